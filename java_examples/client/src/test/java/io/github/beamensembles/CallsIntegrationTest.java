package io.github.beamensembles;

import static java.util.stream.Collectors.joining;
import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.beam.model.pipeline.v1.SchemaApi;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.Flatten;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionList;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/**
 * Ensembles drawn at random, and those of tests/conformance, give what plain Python and the models'
 * own libraries say of the same rows, in the types that were announced when the pipeline was made.
 */
@RunWith(JUnit4.class)
public class CallsIntegrationTest implements Serializable {

  private static final String FOLDER_VARIABLE = "BEAM_ENSEMBLES_FRAMEWORKS";

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  /** Calls in one pipeline: a runner starts a worker for each encoding of one. */
  private static final int AT_ONCE = 4;

  @Test
  public void ensemblesGiveWhatPythonAndTheLibrariesSay() throws IOException {
    Path folder = Path.of(RealRunner.assumed(FOLDER_VARIABLE));
    List<JsonNode> asked = new ArrayList<>();
    for (JsonNode call : Golden.json(folder.resolve("calls.json"))) {
      if (!call.get("encodings").get("java").isEmpty()) {
        asked.add(call);
      }
    }
    for (int start = 0; start < asked.size(); start += AT_ONCE) {
      run(folder, asked.subList(start, Math.min(start + AT_ONCE, asked.size())));
    }
  }

  private static void run(Path folder, List<JsonNode> calls) throws IOException {
    TestPipeline pipeline = RUNNER.pipeline().enableAbandonedNodeEnforcement(true);
    PCollectionList<String> verdicts = PCollectionList.empty(pipeline);
    Map<String, Integer> wanted = new TreeMap<>();
    for (JsonNode call : calls) {
      String name = call.get("name").textValue();
      Schema schema = schema(call.get("input"));
      List<Row> rows = new ArrayList<>();
      call.get("rows").forEach(row -> rows.add(TypedJson.row(schema, row)));
      PCollection<Row> created = pipeline.apply(name, Create.of(rows).withRowSchema(schema));
      for (JsonNode encoded : call.get("encodings").get("java")) {
        Encoding encoding = Encoding.valueOf(encoded.textValue().toUpperCase(Locale.ROOT));
        String step = name + " by " + encoding;
        RunEnsemble ensemble =
            RunEnsemble.fromFile(folder.resolve(call.get("file").textValue()).toString())
                .withEncoding(encoding)
                .withColumns(columns(call))
                .withPrefix(call.get("prefix").textValue());
        for (int id = 0; id < rows.size(); id++) {
          wanted.put(step + ": row " + id + " is right", 1);
        }
        for (PCollection<String> one : ask(step, ensemble, created, call)) {
          verdicts = verdicts.and(one);
        }
      }
    }
    PAssert.that(verdicts.apply(Flatten.pCollections())).satisfies(found -> check(wanted, found));
    pipeline.run().waitUntilFinish();
  }

  /** Scores rows, and says of each that comes out whether it is right. */
  private static List<PCollection<String>> ask(
      String step, RunEnsemble ensemble, PCollection<Row> rows, JsonNode call) throws IOException {
    ParDo.SingleOutput<Row, String> scored = ParDo.of(new CheckScored(step, call));
    boolean fails = false;
    for (JsonNode outcome : call.get("outcomes")) {
      fails |= outcome.has("failures");
    }
    if (!fails) {
      PCollection<Row> output = rows.apply(step, ensemble);
      assertTypes(step, schema(call.get("output")), output.getSchema());
      return List.of(output.apply(step + ": scored", scored));
    }
    PCollectionRowTuple both = rows.apply(step, ensemble.withErrors());
    assertTypes(step, schema(call.get("output")), both.get("output").getSchema());
    return List.of(
        both.get("output").apply(step + ": scored", scored),
        both.get("errors").apply(step + ": failed", ParDo.of(new CheckFailed(step, call))));
  }

  private static Schema schema(JsonNode proto) throws IOException {
    return SchemaTranslation.schemaFromProto(SchemaApi.Schema.parseFrom(proto.binaryValue()));
  }

  private static Map<String, String> columns(JsonNode call) {
    Map<String, String> columns = new HashMap<>();
    call.get("columns")
        .fields()
        .forEachRemaining(it -> columns.put(it.getKey(), it.getValue().textValue()));
    return columns;
  }

  private static void assertTypes(String step, Schema announced, Schema found) {
    assertEquals(
        step,
        PortableTypes.nameOf(FieldType.row(announced)),
        PortableTypes.nameOf(FieldType.row(found)));
  }

  /** Every row came out once, and is right; says what else there is. */
  private static Void check(Map<String, Integer> wanted, Iterable<String> found) {
    Map<String, Integer> counts = new TreeMap<>();
    found.forEach(verdict -> counts.merge(verdict, 1, Integer::sum));
    Map<String, Integer> missing = new TreeMap<>(wanted);
    missing.entrySet().removeAll(counts.entrySet());
    counts.entrySet().removeAll(wanted.entrySet());
    String lines = counts.keySet().stream().limit(40).collect(joining("\n"));
    assertEquals(lines, Map.of(), counts);
    assertEquals(Map.of(), missing);
    return null;
  }

  /** Compares rows with what a call says of those with their ids. */
  private abstract static class Check extends DoFn<Row, String> {
    private final String step;
    private final String call;
    private double tolerance;

    private Check(String step, JsonNode call) {
      this.step = step;
      this.call = call.toString();
    }

    @ProcessElement
    public void process(@Element Row row, OutputReceiver<String> output) {
      JsonNode json = Golden.parsed(call);
      int id = id(row);
      tolerance = json.get("tolerance").doubleValue();
      String wrong = wrong(row, json.get("rows").get(id), json.get("outcomes").get(id));
      output.output(step + ": row " + id + (wrong.isEmpty() ? " is right" : ": " + wrong));
    }

    abstract int id(Row row);

    /** Says what is wrong with a row; nothing, if nothing is. */
    abstract String wrong(Row row, JsonNode sent, JsonNode outcome);

    String differences(Row row, JsonNode wanted) {
      return row.getSchema().getFields().stream()
          .filter(
              field -> {
                Object value = TypedJson.value(field.getType(), wanted.get(field.getName()));
                return !TypedJson.isThat(
                    field.getType(), value, row.getValue(field.getName()), tolerance);
              })
          .map(
              field ->
                  String.format(
                      "%s is %s, not %s",
                      field, row.<Object>getValue(field.getName()), wanted.get(field.getName())))
          .collect(joining(", "));
    }
  }

  private static final class CheckScored extends Check {
    private CheckScored(String step, JsonNode call) {
      super(step, call);
    }

    @Override
    int id(Row row) {
      return row.getInt64("id").intValue();
    }

    @Override
    String wrong(Row row, JsonNode sent, JsonNode outcome) {
      if (!outcome.has("added")) {
        return "it is scored, but should fail with one of " + outcome.get("failures");
      }
      ObjectNode wanted = ((ObjectNode) sent).setAll((ObjectNode) outcome.get("added"));
      return differences(row, wanted);
    }
  }

  private static final class CheckFailed extends Check {
    private CheckFailed(String step, JsonNode call) {
      super(step, call);
    }

    @Override
    int id(Row row) {
      return row.getRow("element").getInt64("id").intValue();
    }

    @Override
    String wrong(Row row, JsonNode sent, JsonNode outcome) {
      String why = row.getString("node") + " " + row.getString("code");
      List<String> known = new ArrayList<>();
      outcome.path("failures").forEach(it -> known.add(it.textValue()));
      if (!known.contains(why)) {
        return "it fails with '" + why + "', not one of " + known + ": " + row.getString("msg");
      }
      return differences(row.getRow("element"), sent);
    }
  }
}
