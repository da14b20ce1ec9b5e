package io.github.beamensembles;

import static org.junit.Assert.assertEquals;

import io.github.beamensembles.testing.FakeEnsemble;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.NanosInstant;
import org.apache.beam.sdk.schemas.logicaltypes.SqlTypes;
import org.apache.beam.sdk.schemas.logicaltypes.VariableString;
import org.apache.beam.sdk.testing.CrashingRunner;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** A fake refuses the calls that the real service refuses, with its codes and places. */
@RunWith(JUnit4.class)
public class FakeEnsembleIntegrationTest {

  private static final RunEnsemble ENSEMBLE =
      RunEnsemble.fromText(
          """
          ensemble: checks
          inputs: {values: "array<double>", name: "string?", count: int64, at: timestamp}
          nodes:
            total:
              apply: sql
              select: {sum: "count + ${n}", upper: UPPER(name), due: "at + INTERVAL '1 day'"}
              outputs: {sum: int64, upper: "string?", due: timestamp}
          outputs: [sum, upper, due]
          """,
          "/");
  private static final RunEnsemble GOOD = ENSEMBLE.withParameters(Map.of("n", "1"));

  private static final FakeEnsemble<Row, Row> FAKE =
      FakeEnsemble.of(
          Schema.builder()
              .addArrayField("values", FieldType.DOUBLE)
              .addNullableStringField("name")
              .addInt64Field("count")
              .addDateTimeField("at")
              .build(),
          Schema.builder()
              .addInt64Field("sum")
              .addNullableStringField("upper")
              .addDateTimeField("due")
              .build());

  /** What fits. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Fits {
    public org.joda.time.Instant due = new org.joda.time.Instant(0);
    public long sum;
    @javax.annotation.Nullable public String upper;
  }

  /** What does not. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Wrong {
    public String upper = "";
    public int sum;
    public long other;
    public String due = "";
  }

  private static Schema rows(Map<String, FieldType> changes) {
    Map<String, FieldType> fields = new LinkedHashMap<>();
    fields.put("id", FieldType.INT64);
    fields.put("values", FieldType.array(FieldType.DOUBLE));
    fields.put("name", FieldType.STRING);
    fields.put("count", FieldType.INT64);
    fields.put("at", FieldType.DATETIME);
    fields.putAll(changes);
    Schema.Builder schema = Schema.builder();
    fields.forEach(
        (name, type) -> {
          if (!type.equals(FieldType.BOOLEAN)) { // which stands for no field
            schema.addField(name, type);
          }
        });
    return schema.build();
  }

  private static Map<String, Schema> schemas() {
    Map<String, Schema> schemas = new LinkedHashMap<>();
    schemas.put("as declared", rows(Map.of()));
    Map<String, List<FieldType>> types = new LinkedHashMap<>();
    types.put(
        "values",
        List.of(
            FieldType.array(FieldType.FLOAT),
            FieldType.array(FieldType.INT32),
            FieldType.array(FieldType.INT64),
            FieldType.array(FieldType.DOUBLE.withNullable(true)),
            FieldType.iterable(FieldType.DOUBLE),
            FieldType.DOUBLE,
            FieldType.BOOLEAN));
    types.put(
        "name",
        List.of(
            FieldType.STRING.withNullable(true),
            FieldType.BYTES,
            FieldType.DECIMAL,
            FieldType.logicalType(EnumerationType.create("a", "b")),
            FieldType.logicalType(VariableString.of(5)),
            FieldType.BOOLEAN));
    types.put(
        "count",
        List.of(
            FieldType.BYTE,
            FieldType.INT16,
            FieldType.INT32,
            FieldType.INT64.withNullable(true),
            FieldType.DOUBLE,
            FieldType.DECIMAL,
            FieldType.STRING));
    types.put(
        "at",
        List.of(
            FieldType.logicalType(SqlTypes.TIMESTAMP),
            FieldType.logicalType(new NanosInstant()),
            FieldType.logicalType(SqlTypes.DATE),
            FieldType.logicalType(SqlTypes.TIME),
            FieldType.INT64));
    types.forEach(
        (name, all) ->
            all.forEach(type -> schemas.put(name + ": " + type, rows(Map.of(name, type)))));
    schemas.put("a field of an output", rows(Map.of("sum", FieldType.INT64)));
    schemas.put("an opaque field of an output", rows(Map.of("sum", SET)));
    return schemas;
  }

  private static final FieldType SET = FieldType.iterable(FieldType.INT64);

  private static Map<String, Function<PCollection<Row>, Object>> calls() {
    Map<String, Function<PCollection<Row>, Object>> calls = new LinkedHashMap<>();
    calls.put("good", rows -> rows.apply(GOOD));
    calls.put("errors", rows -> rows.apply(GOOD.withErrors()));
    calls.put("no parameter", rows -> rows.apply(ENSEMBLE));
    calls.put(
        "a wrong parameter",
        rows -> rows.apply(ENSEMBLE.withParameters(Map.of("n", "1", "nn", "2"))));
    calls.put("a column", rows -> rows.apply(GOOD.withColumns(Map.of("count", "id"))));
    calls.put("wrong columns", rows -> rows.apply(GOOD.withColumns(Map.of("cnt", "id"))));
    calls.put("no such field", rows -> rows.apply(GOOD.withColumns(Map.of("count", "idd"))));
    calls.put("a prefix", rows -> rows.apply(GOOD.withPrefix("p_")));
    calls.put("a wrong prefix", rows -> rows.apply(GOOD.withPrefix("9")));
    calls.put("fields", rows -> rows.apply(GOOD.withPassThrough("id")));
    calls.put("wrong fields", rows -> rows.apply(GOOD.withPassThrough("id", "idd")));
    calls.put("a type", rows -> rows.apply(GOOD.as(Fits.class)));
    calls.put("a wrong type", rows -> rows.apply(GOOD.as(Wrong.class)));
    calls.put("a type and a prefix", rows -> rows.apply(GOOD.withPrefix("p_").as(Fits.class)));
    calls.put("provenance", rows -> rows.apply(GOOD.withProvenance()));
    return calls;
  }

  private static PipelineOptions options() {
    PipelineOptions options = PipelineOptionsFactory.create();
    options.setRunner(CrashingRunner.class);
    return options;
  }

  /** Codes and places of what is wrong, or the schema of what comes out. */
  private static List<String> answer(
      PipelineOptions options, Schema schema, Function<PCollection<Row>, Object> call) {
    PCollection<Row> rows =
        Pipeline.create(options).apply(Create.empty(schema)).setRowSchema(schema);
    try {
      Object made = call.apply(rows);
      List<String> fields = new ArrayList<>();
      if (made instanceof PCollection<?> scored) {
        scored
            .getSchema()
            .getFields()
            .forEach(it -> fields.add(it.getName() + " " + PortableTypes.nameOf(it.getType())));
      }
      return fields;
    } catch (EnsembleException e) {
      return e.problems().stream().map(FakeEnsembleIntegrationTest::place).sorted().toList();
    }
  }

  /** The fake does not read the file, so it cannot tell where in it a parameter is missing. */
  private static String place(Problem problem) {
    boolean isInFile = problem.code().equals("missing_parameter");
    return isInFile ? problem.code() : problem.code() + " " + problem.path();
  }

  private static void compare(Map<String, Schema> schemas, Iterable<String> names) {
    RealRunner.assumed(RunEnsemble.ADDRESS_VARIABLE);
    PipelineOptions faked = options();
    FAKE.replace("checks", faked);
    Map<String, List<String>> real = new LinkedHashMap<>();
    Map<String, List<String>> fake = new LinkedHashMap<>();
    schemas.forEach(
        (rows, schema) ->
            names.forEach(
                name -> {
                  String key = name + " on " + rows;
                  real.put(key, answer(options(), schema, calls().get(name)));
                  fake.put(key, answer(faked, schema, calls().get(name)));
                }));
    assertEquals(lines(real), lines(fake));
  }

  private static String lines(Map<String, List<String>> answers) {
    StringBuilder lines = new StringBuilder();
    answers.forEach((key, value) -> lines.append(key).append(" -> ").append(value).append('\n'));
    return lines.toString();
  }

  @Test
  public void rowsAreCheckedAsTheServiceChecksThem() {
    compare(schemas(), List.of("good"));
  }

  @Test
  public void callsAreCheckedAsTheServiceChecksThem() {
    compare(Map.of("as declared", rows(Map.of())), calls().keySet());
  }
}
