package io.github.beamensembles;

import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.beam.sdk.values.WindowingStrategy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How rows cross to the models and back. Both give the same answers. */
public enum Encoding {
  /** One element a row. */
  ROWS,

  /**
   * Many rows in one element, an Arrow record batch: 1.8 to 1.9 times as fast as {@link #ROWS} for
   * 400,000 rows and more of two small models. For few rows it makes no difference.
   *
   * <p>Java 17 and newer allow that where the program and its workers are started with {@value
   * ArrowMemory#FLAG}; Beam's worker images are.
   */
  ARROW;

  private static final Logger LOG = LoggerFactory.getLogger(Encoding.class);
  private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

  /**
   * Gives what the caller asks for, or else the faster one where it can be used and is of use.
   *
   * @param obstacle says why rows cannot be packed in this program; asked only where they would be
   */
  static Encoding of(
      Optional<Encoding> asked,
      WindowingStrategy<?, ?> windowing,
      Supplier<Optional<String>> obstacle) {
    if (asked.isPresent()) {
      return asked.get();
    }
    if (!windowing.getWindowFn().isNonMerging()) {
      sayOnce(
          "Rows go to the ensemble one by one: in windows that merge, each has one of its own, and"
              + " there is nothing to pack");
      return ROWS;
    }
    Optional<String> why = obstacle.get();
    why.ifPresent(it -> sayOnce("Rows go to the ensemble one by one, which is slower: " + it));
    return why.isPresent() ? ROWS : ARROW;
  }

  private static void sayOnce(String sentence) {
    if (SAID.add(sentence)) {
      LOG.warn(sentence);
    }
  }
}
