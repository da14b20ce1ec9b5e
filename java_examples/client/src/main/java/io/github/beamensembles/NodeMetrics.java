package io.github.beamensembles;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The metrics of one node, under the names that runners show. A distribution is empty where nothing
 * was measured: the node never ran.
 */
public final class NodeMetrics implements Serializable {

  private static final String ARM = "arm_";
  private static final String USAGE = "usage_";
  private static final String GREATEST_DIFFERENCE = "greatest_difference_millionths";

  private final String node;
  private final Map<String, Long> counters;
  private final Map<String, Distribution> distributions;

  NodeMetrics(String node, Map<String, Long> counters, Map<String, Distribution> distributions) {
    this.node = node;
    this.counters = Map.copyOf(counters);
    this.distributions = Map.copyOf(distributions);
  }

  /** The node's name. */
  public String node() {
    return node;
  }

  /** Rows that it answered. */
  public long numInferences() {
    return counter("num_inferences");
  }

  /** Rows that it failed on, whatever its {@code on_error} made of them. */
  public long failedRows() {
    return counter("failed_rows");
  }

  /** Batches with a row that it failed on. */
  public long failedBatchesCounter() {
    return counter("failed_batches_counter");
  }

  /** Rows for which its condition does not hold. */
  public long skippedRows() {
    return counter("skipped_rows");
  }

  /** Rows of each batch that it ran on. */
  public Optional<Distribution> inferenceRequestBatchSize() {
    return distribution("inference_request_batch_size");
  }

  /** Bytes of the columns that it read of each batch. */
  public Optional<Distribution> inferenceRequestBatchByteSize() {
    return distribution("inference_request_batch_byte_size");
  }

  /** Microseconds for each batch. */
  public Optional<Distribution> inferenceBatchLatencyMicroSecs() {
    return distribution("inference_batch_latency_micro_secs");
  }

  /** Milliseconds for each time that it was loaded, once per worker process. */
  public Optional<Distribution> loadModelLatencyMilliSecs() {
    return distribution("load_model_latency_milli_secs");
  }

  /** Bytes by which the peak memory of the process grew meanwhile. */
  public Optional<Distribution> modelByteSize() {
    return distribution("model_byte_size");
  }

  /** For a route: rows that took each arm, by the arm's name. */
  public SortedMap<String, Long> arms() {
    return countersBelow(ARM);
  }

  /** What it counts besides rows, by name: calls of a server, tokens, answers from a cache. */
  public SortedMap<String, Long> usage() {
    return countersBelow(USAGE);
  }

  /** Microseconds for each call of a server. */
  public Optional<Distribution> callLatencyMicroSecs() {
    return distribution("call_latency_micro_secs");
  }

  /** For a shadow: rows on which it says what the node beside it says. */
  public long agreements() {
    return counter("agreements");
  }

  /** For a shadow: rows on which it says something else. */
  public long disagreements() {
    return counter("disagreements");
  }

  /** For a shadow that gives numbers: by how much they differ, the mean over its rows. */
  public OptionalDouble meanDifference() {
    long compared = agreements() + disagreements();
    if (compared == 0 || !distributions.containsKey(GREATEST_DIFFERENCE)) {
      return OptionalDouble.empty();
    }
    return OptionalDouble.of(counter("differences_millionths") / 1e6 / compared);
  }

  /** For a shadow that gives numbers: by how much they differ at most. */
  public OptionalDouble greatestDifference() {
    Distribution found = distributions.get(GREATEST_DIFFERENCE);
    return found == null ? OptionalDouble.empty() : OptionalDouble.of(found.max() / 1e6);
  }

  /** A line of the table. */
  List<String> cells() {
    Distribution batches = distributions.get("inference_request_batch_size");
    Distribution latency = distributions.get("inference_batch_latency_micro_secs");
    Distribution loading = distributions.get("load_model_latency_milli_secs");
    Distribution size = distributions.get("model_byte_size");
    return List.of(
        node,
        Long.toString(numInferences()),
        Long.toString(failedRows()),
        Long.toString(skippedRows()),
        Long.toString(batches == null ? 0 : batches.count()),
        Distribution.spread(batches, 1, 1, 0),
        Distribution.spread(latency, 1_000, 2, 2),
        Distribution.mean(loading, 1, 0),
        Distribution.mean(size, 1 << 20, 1),
        String.join(", ", notes()));
  }

  private List<String> notes() {
    List<String> notes = new ArrayList<>();
    arms().forEach((arm, rows) -> notes.add(arm + " " + rows));
    long compared = agreements() + disagreements();
    if (compared != 0) {
      notes.add("agrees on " + agreements() + " of " + compared);
    }
    OptionalDouble mean = meanDifference();
    OptionalDouble greatest = greatestDifference();
    if (mean.isPresent() && greatest.isPresent()) {
      notes.add(
          String.format(
              Locale.ROOT,
              "differs by %.6f (%.6f at most)",
              mean.getAsDouble(),
              greatest.getAsDouble()));
    }
    usage().forEach((name, count) -> notes.add(name + " " + count));
    return notes;
  }

  private SortedMap<String, Long> countersBelow(String prefix) {
    SortedMap<String, Long> found = new TreeMap<>();
    counters.forEach(
        (name, count) -> {
          if (name.startsWith(prefix)) {
            found.put(name.substring(prefix.length()), count);
          }
        });
    return found;
  }

  private long counter(String name) {
    return counters.getOrDefault(name, 0L);
  }

  private Optional<Distribution> distribution(String name) {
    return Optional.ofNullable(distributions.get(name));
  }

  /** Whether a counter of a node's namespace is one of ours. */
  static boolean isCounter(String name) {
    return name.startsWith(ARM) || name.startsWith(USAGE) || COUNTERS.contains(name);
  }

  /** Whether a distribution of a node's namespace is one of ours. */
  static boolean isDistribution(String name) {
    return DISTRIBUTIONS.contains(name);
  }

  private static final List<String> COUNTERS =
      List.of(
          "num_inferences",
          "failed_rows",
          "failed_batches_counter",
          "skipped_rows",
          "agreements",
          "disagreements",
          "differences_millionths");

  private static final List<String> DISTRIBUTIONS =
      List.of(
          "inference_request_batch_size",
          "inference_request_batch_byte_size",
          "inference_batch_latency_micro_secs",
          "load_model_latency_milli_secs",
          "model_byte_size",
          GREATEST_DIFFERENCE,
          "call_latency_micro_secs");
}
