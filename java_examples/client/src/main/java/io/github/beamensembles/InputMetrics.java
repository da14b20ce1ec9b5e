package io.github.beamensembles;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The metrics of one input that is compared with its profile, under the names that runners show.
 */
public final class InputMetrics implements Serializable {

  private static final String STABILITY_INDEX = "population_stability_index_millionths";

  private final String column;
  private final Map<String, Long> counters;
  private final Distribution stabilityIndex;

  InputMetrics(String column, Map<String, Long> counters, Map<String, Distribution> distributions) {
    this.column = column;
    this.counters = Map.copyOf(counters);
    this.stabilityIndex = distributions.get(STABILITY_INDEX);
  }

  /** The input's name. */
  public String column() {
    return column;
  }

  /** Rows that were compared. */
  public long comparedRows() {
    return counter("compared_rows");
  }

  /** Those of them in which it is null. */
  public long nullRows() {
    return counter("null_rows");
  }

  /** Numbers in them below the smallest or above the largest of the profile. */
  public long outOfRangeValues() {
    return counter("out_of_range_values");
  }

  /** Texts in them that are none of the profile's categories. */
  public long unseenValues() {
    return counter("unseen_values");
  }

  /** Windows of these rows in which it differs from its profile. */
  public long driftedWindows() {
    return counter("drifted_windows");
  }

  /** The population stability index of each window, in millionths. */
  public Optional<Distribution> populationStabilityIndexMillionths() {
    return Optional.ofNullable(stabilityIndex);
  }

  /** A line of the table. */
  List<String> cells() {
    return List.of(
        column,
        Long.toString(comparedRows()),
        Long.toString(nullRows()),
        Long.toString(outOfRangeValues()),
        Long.toString(unseenValues()),
        Long.toString(stabilityIndex == null ? 0 : stabilityIndex.count()),
        Long.toString(driftedWindows()),
        Distribution.spread(stabilityIndex, 1_000_000, 3, 3));
  }

  private long counter(String name) {
    return counters.getOrDefault(name, 0L);
  }

  /** Whether a counter of an input's namespace is one of ours. */
  static boolean isCounter(String name) {
    return COUNTERS.contains(name);
  }

  /** Whether a distribution of an input's namespace is one of ours. */
  static boolean isDistribution(String name) {
    return name.equals(STABILITY_INDEX);
  }

  private static final List<String> COUNTERS =
      List.of(
          "compared_rows", "null_rows", "out_of_range_values", "unseen_values", "drifted_windows");
}
