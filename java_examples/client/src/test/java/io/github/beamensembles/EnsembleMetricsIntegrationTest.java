package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** What the nodes of a pipeline on Prism have counted: known rows, known counts. */
@RunWith(JUnit4.class)
public class EnsembleMetricsIntegrationTest {

  private static final Path FOLDER = Golden.folder("metrics");
  private static final Schema VISIT =
      Schema.builder()
          .addStringField("user")
          .addDoubleField("x")
          .addInt64Field("code")
          .addNullableStringField("note")
          .build();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  @Test
  public void everyNodeCountsItsRows() throws IOException {
    JsonNode golden = Golden.json(FOLDER.resolve("counted.json"));
    List<Row> rows = new ArrayList<>();
    for (JsonNode row : golden.get("rows")) {
      rows.add(
          Row.withSchema(VISIT)
              .addValues(
                  row.get("user").textValue(),
                  row.get("x").doubleValue(),
                  row.get("code").longValue(),
                  row.get("note").textValue())
              .build());
    }
    pipeline
        .apply(Create.of(repeated(rows, golden.get("times").intValue())).withRowSchema(VISIT))
        .apply(RunEnsemble.fromFile(FOLDER.resolve("counted.yaml").toString()));
    PipelineResult result = pipeline.run();
    result.waitUntilFinish();

    List<EnsembleMetrics> all = EnsembleMetrics.of(result);
    assertEquals(all.toString(), 1, all.size());
    assertEquals("counted", all.get(0).ensemble());
    assertEquals(golden.get("counts").size(), all.get(0).nodes().size());
    for (NodeMetrics node : all.get(0).nodes()) {
      assertEquals(node.node(), golden.get("counts").get(node.node()), Golden.parsed(counts(node)));
      Distribution latency = node.inferenceBatchLatencyMicroSecs().orElseThrow();
      assertEquals(node.inferenceRequestBatchSize().orElseThrow().count(), latency.count());
      assertTrue(latency.min() > 0);
    }
    assertEquals(golden.get("new").size(), all.get(0).inputs().size());
    for (InputMetrics input : all.get(0).inputs()) {
      assertCountsWhatIsNew(input, golden.get("new").get(input.column()).textValue());
    }
  }

  private static List<Row> repeated(List<Row> rows, int times) {
    return Collections.nCopies(times, rows).stream().flatMap(List::stream).toList();
  }

  /** Whole windows were compared, and each differs from the profile by what the name says. */
  private static void assertCountsWhatIsNew(InputMetrics input, String name) {
    assertEquals(name.equals("null_rows"), input.nullRows() > 0);
    assertEquals(name.equals("out_of_range_values"), input.outOfRangeValues() > 0);
    assertEquals(name.equals("unseen_values"), input.unseenValues() > 0);
    Distribution index = input.populationStabilityIndexMillionths().orElseThrow();
    assertTrue(index.min() >= 100_000);
    assertEquals(index.count(), input.driftedWindows());
    assertEquals(input.comparedRows(), 500 * input.driftedWindows());
  }

  /** What depends neither on bundles nor on time, without zeros, as JSON. */
  private static String counts(NodeMetrics node) {
    Map<String, String> counts = new TreeMap<>();
    counts.put("num_inferences", Long.toString(node.numInferences()));
    counts.put("failed_rows", Long.toString(node.failedRows()));
    counts.put("skipped_rows", Long.toString(node.skippedRows()));
    counts.put("agreements", Long.toString(node.agreements()));
    counts.put("disagreements", Long.toString(node.disagreements()));
    counts.put("rows", Long.toString(node.inferenceRequestBatchSize().orElseThrow().sum()));
    counts.values().removeIf("0"::equals);
    if (!node.arms().isEmpty()) {
      List<String> arms = new ArrayList<>();
      node.arms().forEach((arm, rows) -> arms.add('"' + arm + "\": " + rows));
      counts.put("arms", "{" + String.join(", ", arms) + "}");
    }
    List<String> entries = new ArrayList<>();
    counts.forEach((name, value) -> entries.add('"' + name + "\": " + value));
    return "{" + String.join(", ", entries) + "}";
  }
}
