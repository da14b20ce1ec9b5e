package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** An ensemble with a node of every framework gives what each framework itself says. */
@RunWith(JUnit4.class)
public class FrameworksIntegrationTest implements Serializable {

  private static final String FOLDER_VARIABLE = "BEAM_ENSEMBLES_FRAMEWORKS";
  private static final FieldType FLOATS = FieldType.array(FieldType.FLOAT);
  private static final FieldType DOUBLES = FieldType.array(FieldType.DOUBLE);

  /** The rows. */
  private static final Schema SPECIMEN =
      Schema.builder().addInt64Field("id").addField("x", DOUBLES).addStringField("text").build();

  /** The column that each framework adds, and its type. */
  private static final Map<String, FieldType> COLUMNS =
      Map.ofEntries(
          Map.entry("sklearn_label", FieldType.STRING),
          Map.entry("sklearn_proba", DOUBLES),
          Map.entry("xgboost_proba", FLOATS),
          Map.entry("lightgbm_proba", DOUBLES),
          Map.entry("catboost_label", FieldType.STRING),
          Map.entry("onnx_label", FieldType.INT64),
          Map.entry("onnx_proba", FLOATS),
          Map.entry("pytorch_logits", FLOATS),
          Map.entry("tensorflow_proba", FLOATS),
          Map.entry("mood", FieldType.STRING),
          Map.entry("mood_score", FieldType.DOUBLE),
          Map.entry("python_label", FieldType.STRING),
          Map.entry("remote_proba", DOUBLES),
          Map.entry("vertex_label", FieldType.STRING),
          Map.entry("vertex_share", DOUBLES),
          Map.entry("chat_mood", FieldType.STRING),
          Map.entry("chat_words", FieldType.INT64),
          Map.entry("chat_parts", FieldType.array(FieldType.STRING)),
          Map.entry("embed_vector", FLOATS),
          Map.entry("decisions_bad", FieldType.DOUBLE));

  /** The same of the frameworks that run on a GPU only. */
  private static final Map<String, FieldType> COLUMNS_ON_GPU = Map.of("tensorrt_sum", FLOATS);

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  @Test
  public void everyFrameworkGivesItsOwnAnswers() throws IOException {
    check("every.json", "expected", COLUMNS);
  }

  @Test
  public void frameworksThatNeedAGpuGiveTheirOwnAnswers() throws IOException {
    String leftOut = Golden.json(folder().resolve("left_out.json")).toString();
    assumeTrue(leftOut, leftOut.equals("{}"));
    check("gpu.json", "on_gpu", COLUMNS_ON_GPU);
  }

  private static Path folder() {
    return Path.of(RealRunner.assumed(FOLDER_VARIABLE));
  }

  private void check(String file, String answers, Map<String, FieldType> columns)
      throws IOException {
    Map<Long, String> wanted = new HashMap<>();
    List<Row> specimens = new ArrayList<>();
    for (JsonNode one : Golden.json(folder().resolve("rows.json"))) {
      specimens.add(specimen(one.get("row")));
      wanted.put(one.get("row").get("id").asLong(), one.get(answers).toString());
    }
    PCollection<Row> scored =
        pipeline
            .apply(Create.of(specimens).withRowSchema(SPECIMEN))
            .apply(
                RunEnsemble.fromFile(folder().resolve(file).toString())
                    .withEncoding(Encoding.ARROW));
    columns.forEach(
        (name, type) ->
            assertTrue(
                name + " is " + scored.getSchema().getField(name).getType(),
                type.typesEqual(scored.getSchema().getField(name).getType())));
    Set<String> names = new HashSet<>(columns.keySet());
    PAssert.that(scored)
        .satisfies(
            rows -> {
              int count = 0;
              for (Row row : rows) {
                checkRow(row, wanted.get(row.getInt64("id")), names);
                count++;
              }
              assertEquals(wanted.size(), count);
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  private static Row specimen(JsonNode row) {
    List<Double> x = new ArrayList<>();
    row.get("x").forEach(value -> x.add(value.asDouble()));
    return Row.withSchema(SPECIMEN)
        .addValues(row.get("id").asLong(), x, row.get("text").asText())
        .build();
  }

  private static void checkRow(Row row, String text, Set<String> names) {
    JsonNode wanted = Golden.parsed(text);
    for (String name : names) {
      check("row " + row.getInt64("id") + ": " + name, wanted.get(name), row.getValue(name));
    }
  }

  private static void check(String what, JsonNode wanted, Object found) {
    if (found instanceof Collection<?> items) {
      assertEquals(what, wanted.size(), items.size());
      int at = 0;
      for (Object item : items) {
        check(what, wanted.get(at++), item);
      }
    } else if (found instanceof Float || found instanceof Double) {
      assertEquals(what, wanted.asDouble(), ((Number) found).doubleValue(), 1e-5);
    } else if (found instanceof Long number) {
      assertEquals(what, wanted.asLong(), number.longValue());
    } else {
      assertEquals(what, wanted.asText(), found);
    }
  }
}
