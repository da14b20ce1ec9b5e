package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.metrics.DistributionResult;
import org.apache.beam.sdk.metrics.MetricKey;
import org.apache.beam.sdk.metrics.MetricName;
import org.apache.beam.sdk.metrics.MetricQueryResults;
import org.apache.beam.sdk.metrics.MetricResult;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Single metrics become those of nodes, and a table that is the same in all languages. */
@RunWith(JUnit4.class)
public class EnsembleMetricsTest {

  private static final Path FOLDER = Golden.folder("metrics");

  /** Some as Prism says it through Beam 2.65, twice, and some as Beam's own runner in Java does. */
  private static MetricQueryResults golden() throws IOException {
    List<MetricResult<Long>> counters = new ArrayList<>();
    List<MetricResult<DistributionResult>> distributions = new ArrayList<>();
    for (JsonNode one : Golden.json(FOLDER.resolve("metrics.json"))) {
      MetricKey key =
          MetricKey.create(
              one.get("step").textValue(),
              MetricName.named(one.get("namespace").textValue(), one.get("name").textValue()));
      if (one.has("counter")) {
        long value = one.get("counter").longValue();
        if (counters.size() % 2 == 0) {
          counters.add(MetricResult.create(key, false, value / 2));
          counters.add(MetricResult.create(key, false, value));
        } else {
          counters.add(MetricResult.create(key, value, value + 1));
        }
      } else {
        JsonNode numbers = one.get("distribution");
        DistributionResult value =
            DistributionResult.create(
                numbers.get(1).longValue(),
                numbers.get(0).longValue(),
                numbers.get(2).longValue(),
                numbers.get(3).longValue());
        distributions.add(MetricResult.create(key, false, value));
      }
    }
    return MetricQueryResults.create(
        counters, distributions, List.of(), List.of(), List.of(), List.of());
  }

  @Test
  public void beforeTheEndSomeRunnersHaveNone() {
    PipelineResult running =
        (PipelineResult)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {PipelineResult.class},
                (proxy, method, arguments) -> {
                  throw new NullPointerException();
                });

    IllegalStateException error =
        assertThrows(IllegalStateException.class, () -> EnsembleMetrics.of(running));

    assertTrue(error.getMessage(), error.getMessage().contains("call waitUntilFinish()"));
  }

  @Test
  public void theTableIsTheGoldenOne() throws IOException {
    StringBuilder table = new StringBuilder();
    EnsembleMetrics.of(golden()).forEach(found -> table.append(found).append("\n"));
    assertEquals(Files.readString(FOLDER.resolve("table.txt")), table.toString());
  }

  @Test
  public void theValuesAreTheGoldenOnes() throws IOException {
    List<EnsembleMetrics> all = EnsembleMetrics.of(golden());
    JsonNode wanted = Golden.json(FOLDER.resolve("expected.json")).get("ensembles");
    assertEquals(wanted.size(), all.size());
    for (int at = 0; at < all.size(); at++) {
      EnsembleMetrics found = all.get(at);
      assertEquals(wanted.get(at).get("ensemble").textValue(), found.ensemble());
      assertEquals(wanted.get(at).get("refreshes").longValue(), found.refreshes());
      assertEquals(wanted.get(at).get("refused_refreshes").longValue(), found.refusedRefreshes());
      assertEquals(
          wanted.get(at).get("refused_refreshes_by_gate").longValue(),
          found.refusedRefreshesByGate());
      assertEquals(wanted.get(at).get("nodes").size(), found.nodes().size());
      for (JsonNode node : wanted.get(at).get("nodes")) {
        assertNode(node, found.node(node.get("node").textValue()));
      }
      assertEquals(wanted.get(at).get("inputs").size(), found.inputs().size());
      for (JsonNode input : wanted.get(at).get("inputs")) {
        assertInput(input, found.input(input.get("column").textValue()));
      }
    }
  }

  @Test
  public void aNodeThatHasCountedNothingHasZeros() throws IOException {
    NodeMetrics absent = EnsembleMetrics.of(golden()).get(0).node("absent");
    assertEquals(0, absent.numInferences());
    assertTrue(absent.inferenceRequestBatchSize().isEmpty());
    assertTrue(absent.arms().isEmpty());
    assertEquals(0, EnsembleMetrics.of(golden()).get(0).input("absent").comparedRows());
  }

  private static void assertNode(JsonNode wanted, NodeMetrics found) {
    assertEquals(wanted.get("num_inferences").longValue(), found.numInferences());
    assertEquals(wanted.get("failed_rows").longValue(), found.failedRows());
    assertEquals(wanted.get("failed_batches_counter").longValue(), found.failedBatchesCounter());
    assertEquals(wanted.get("skipped_rows").longValue(), found.skippedRows());
    assertEquals(wanted.get("agreements").longValue(), found.agreements());
    assertEquals(wanted.get("disagreements").longValue(), found.disagreements());
    assertEquals(wanted.get("arms").size(), found.arms().size());
    found
        .arms()
        .forEach((arm, rows) -> assertEquals(wanted.get("arms").get(arm).asLong(), (long) rows));
    assertSame(wanted.get("inference_request_batch_size"), found.inferenceRequestBatchSize());
    assertSame(
        wanted.get("inference_request_batch_byte_size"), found.inferenceRequestBatchByteSize());
    assertSame(
        wanted.get("inference_batch_latency_micro_secs"), found.inferenceBatchLatencyMicroSecs());
    assertSame(wanted.get("load_model_latency_milli_secs"), found.loadModelLatencyMilliSecs());
    assertSame(wanted.get("model_byte_size"), found.modelByteSize());
  }

  private static void assertInput(JsonNode wanted, InputMetrics found) {
    assertEquals(wanted.get("compared_rows").longValue(), found.comparedRows());
    assertEquals(wanted.get("null_rows").longValue(), found.nullRows());
    assertEquals(wanted.get("out_of_range_values").longValue(), found.outOfRangeValues());
    assertEquals(wanted.get("unseen_values").longValue(), found.unseenValues());
    assertEquals(wanted.get("drifted_windows").longValue(), found.driftedWindows());
    assertSame(
        wanted.get("population_stability_index_millionths"),
        found.populationStabilityIndexMillionths());
  }

  private static void assertSame(JsonNode wanted, java.util.Optional<Distribution> found) {
    assertEquals(wanted.isNull(), found.isEmpty());
    found.ifPresent(
        one -> {
          assertEquals(wanted.get("count").longValue(), one.count());
          assertEquals(wanted.get("sum").longValue(), one.sum());
          assertEquals(wanted.get("min").longValue(), one.min());
          assertEquals(wanted.get("max").longValue(), one.max());
          assertEquals(wanted.get("mean").doubleValue(), one.mean(), 0);
        });
  }
}
