package io.github.beamensembles;

import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.beam.sdk.values.WindowingStrategy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How rows cross to the models and back. Both give the same answers. */
public enum Encoding {
  /** One element a row. */
  ROWS,

  /**
   * Many rows in one element, an Arrow record batch: several times faster.
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
   * @param memoryIsOpen whether this program may use Arrow's memory
   */
  static Encoding of(
      Optional<Encoding> asked, WindowingStrategy<?, ?> windowing, boolean memoryIsOpen) {
    if (asked.isPresent()) {
      return asked.get();
    }
    if (!windowing.getWindowFn().isNonMerging()) {
      sayOnce(
          "Rows go to the ensemble one by one: in windows that merge, each has one of its own, and"
              + " there is nothing to pack");
      return ROWS;
    }
    if (!memoryIsOpen) {
      sayOnce(
          "Rows go to the ensemble one by one, which is slower: to have them packed, start this"
              + " program with "
              + ArrowMemory.FLAG);
      return ROWS;
    }
    return ARROW;
  }

  private static void sayOnce(String sentence) {
    if (SAID.add(sentence)) {
      LOG.warn(sentence);
    }
  }
}
