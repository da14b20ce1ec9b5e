package io.github.beamensembles;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.metrics.DistributionResult;
import org.apache.beam.sdk.metrics.MetricKey;
import org.apache.beam.sdk.metrics.MetricQueryResults;
import org.apache.beam.sdk.metrics.MetricResult;
import org.apache.beam.sdk.metrics.MetricResults;
import org.apache.beam.sdk.metrics.MetricsFilter;

/**
 * The metrics of one ensemble of a pipeline. Its text is a table.
 *
 * <pre>{@code
 * PipelineResult result = pipeline.run();
 * result.waitUntilFinish();
 * EnsembleMetrics.of(result).forEach(System.out::println);
 * }</pre>
 */
public final class EnsembleMetrics implements Serializable {

  private final String ensemble;
  private final long refreshes;
  private final long refusedRefreshes;
  private final long refusedRefreshesByGate;
  private final List<NodeMetrics> nodes;
  private final List<InputMetrics> inputs;

  private EnsembleMetrics(
      String ensemble,
      Map<String, Long> counters,
      List<NodeMetrics> nodes,
      List<InputMetrics> inputs) {
    this.ensemble = ensemble;
    this.refreshes = counters.getOrDefault("refreshes", 0L);
    this.refusedRefreshes = counters.getOrDefault("refused_refreshes", 0L);
    this.refusedRefreshesByGate = counters.getOrDefault("refused_refreshes_by_gate", 0L);
    this.nodes = List.copyOf(nodes);
    this.inputs = List.copyOf(inputs);
  }

  /**
   * The metrics of the ensembles of a pipeline that has finished, by name.
   *
   * @throws IllegalStateException the runner has no metrics before the pipeline has ended
   */
  public static List<EnsembleMetrics> of(PipelineResult result) {
    MetricResults metrics;
    try {
      metrics = Given.notNull(result, "result").metrics();
    } catch (NullPointerException e) {
      metrics = null; // what Beam's portable runner throws while the job runs
    }
    if (metrics == null) {
      throw new IllegalStateException(
          "this runner has metrics only of a pipeline that has ended; call waitUntilFinish() of the"
              + " result first");
    }
    return of(metrics.queryMetrics(MetricsFilter.builder().build()));
  }

  static List<EnsembleMetrics> of(MetricQueryResults results) {
    Collector collector = new Collector();
    settled(results.getCounters())
        .forEach((key, value) -> collector.count(key.metricName().getNamespace(), key, value));
    settled(results.getDistributions())
        .forEach((key, value) -> collector.distribute(key.metricName().getNamespace(), key, value));
    return collector.sorted();
  }

  /** The ensemble's name. */
  public String ensemble() {
    return ensemble;
  }

  /** New versions of the ensemble that went on, counted for each stage on each worker. */
  public long refreshes() {
    return refreshes;
  }

  /** New versions that could not go on, counted likewise. */
  public long refusedRefreshes() {
    return refusedRefreshes;
  }

  /** Those of the refused versions whose answers were beyond the limits of the gate. */
  public long refusedRefreshesByGate() {
    return refusedRefreshesByGate;
  }

  /** Those of its nodes that have measured something, by name. */
  public List<NodeMetrics> nodes() {
    return nodes;
  }

  /** The metrics of one node; one that has measured nothing has zeros. */
  public NodeMetrics node(String name) {
    return nodes.stream()
        .filter(node -> node.node().equals(name))
        .findFirst()
        .orElseGet(() -> new NodeMetrics(name, Map.of(), Map.of()));
  }

  /** Those of its inputs that were compared with a profile, by name. */
  public List<InputMetrics> inputs() {
    return inputs;
  }

  /** The metrics of one input; one that was not compared has zeros. */
  public InputMetrics input(String column) {
    return inputs.stream()
        .filter(input -> input.column().equals(column))
        .findFirst()
        .orElseGet(() -> new InputMetrics(column, Map.of(), Map.of()));
  }

  @Override
  public String toString() {
    String title = "ensemble '" + ensemble + "'";
    if (refreshes != 0 || refusedRefreshes != 0) {
      title += ": refreshes " + refreshes + ", refused " + refusedRefreshes;
    }
    if (refusedRefreshesByGate != 0) {
      title += " (" + refusedRefreshesByGate + " by the gate)";
    }
    String table = title + "\n" + MetricsTable.ofNodes(nodes);
    return inputs.isEmpty() ? table : table + "\n" + MetricsTable.ofInputs(inputs);
  }

  /**
   * The value of each metric. Beam 2.65's portable runner gives one twice, first what was attempted
   * and then what was committed, and calls both attempted.
   */
  private static <T> Map<MetricKey, T> settled(Iterable<MetricResult<T>> results) {
    Map<MetricKey, T> settled = new LinkedHashMap<>();
    for (MetricResult<T> result : results) {
      T committed = result.getCommittedOrNull();
      settled.put(result.getKey(), committed == null ? result.getAttempted() : committed);
    }
    return settled;
  }

  /** Puts single metrics together to those of nodes and inputs. */
  private static final class Collector {

    /** What the name of an input starts with in a namespace; a node's name has no dot. */
    private static final String INPUT = "inputs.";

    private static final Set<String> OF_ENSEMBLES =
        Set.of("refreshes", "refused_refreshes", "refused_refreshes_by_gate");

    private final Map<String, Map<String, Long>> ofEnsembles = new TreeMap<>();
    private final Map<String, Map<String, Map<String, Long>>> counters = new TreeMap<>();
    private final Map<String, Map<String, Map<String, Distribution>>> distributions =
        new HashMap<>();

    void count(String namespace, MetricKey key, long value) {
      String name = key.metricName().getName();
      int slash = namespace.indexOf('/');
      if (slash < 0 && OF_ENSEMBLES.contains(name)) {
        ofEnsembles.computeIfAbsent(namespace, it -> new HashMap<>()).merge(name, value, Long::sum);
        counters.computeIfAbsent(namespace, it -> new TreeMap<>());
      } else if (isNode(namespace, slash)
          && (isInput(namespace, slash)
              ? InputMetrics.isCounter(name)
              : NodeMetrics.isCounter(name))) {
        node(namespace, slash).merge(name, value, Long::sum);
      }
    }

    void distribute(String namespace, MetricKey key, DistributionResult value) {
      String name = key.metricName().getName();
      int slash = namespace.indexOf('/');
      if (!isNode(namespace, slash) || value.getCount() == 0) {
        return;
      }
      if (!(isInput(namespace, slash)
          ? InputMetrics.isDistribution(name)
          : NodeMetrics.isDistribution(name))) {
        return;
      }
      node(namespace, slash);
      distributions
          .computeIfAbsent(namespace.substring(0, slash), it -> new HashMap<>())
          .computeIfAbsent(namespace.substring(slash + 1), it -> new HashMap<>())
          .merge(
              name,
              new Distribution(value.getCount(), value.getSum(), value.getMin(), value.getMax()),
              Distribution::with);
    }

    List<EnsembleMetrics> sorted() {
      List<EnsembleMetrics> all = new ArrayList<>();
      counters.forEach(
          (ensemble, nodes) -> {
            List<NodeMetrics> found = new ArrayList<>();
            List<InputMetrics> inputs = new ArrayList<>();
            nodes.forEach(
                (node, counts) -> {
                  Map<String, Distribution> measured =
                      distributions.getOrDefault(ensemble, Map.of()).getOrDefault(node, Map.of());
                  if (node.startsWith(INPUT)) {
                    String column = node.substring(INPUT.length());
                    inputs.add(new InputMetrics(column, counts, measured));
                  } else {
                    found.add(new NodeMetrics(node, counts, measured));
                  }
                });
            Map<String, Long> own = ofEnsembles.getOrDefault(ensemble, Map.of());
            all.add(new EnsembleMetrics(ensemble, own, found, inputs));
          });
      return all;
    }

    private Map<String, Long> node(String namespace, int slash) {
      return counters
          .computeIfAbsent(namespace.substring(0, slash), it -> new TreeMap<>())
          .computeIfAbsent(namespace.substring(slash + 1), it -> new HashMap<>());
    }

    private static boolean isInput(String namespace, int slash) {
      return namespace.startsWith(INPUT, slash + 1);
    }

    private static boolean isNode(String namespace, int slash) {
      return slash > 0 && slash < namespace.length() - 1 && namespace.indexOf('/', slash + 1) < 0;
    }
  }
}
