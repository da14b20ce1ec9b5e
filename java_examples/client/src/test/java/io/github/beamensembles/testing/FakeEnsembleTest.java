package io.github.beamensembles.testing;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.github.beamensembles.Encoding;
import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.Problem;
import io.github.beamensembles.RunEnsemble;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.beam.runners.direct.DirectRunner;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.MicrosInstant;
import org.apache.beam.sdk.schemas.logicaltypes.SqlTypes;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.Reify;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.apache.beam.sdk.values.TypeDescriptors;
import org.joda.time.Instant;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link FakeEnsemble}, on Beam's direct runner. */
@RunWith(JUnit4.class)
public class FakeEnsembleTest implements Serializable {

  private static final Schema FLOWER =
      Schema.builder().addInt64Field("id").addArrayField("petals", FieldType.DOUBLE).build();
  private static final Schema PETALS =
      Schema.builder().addArrayField("petals", FieldType.DOUBLE).build();
  private static final Schema SPECIES =
      Schema.builder().addStringField("species").addDoubleField("confidence").build();
  private static final Row FIRST = Row.withSchema(FLOWER).addValue(1L).addArray(5.1, 3.5).build();
  private static final Row SECOND = Row.withSchema(FLOWER).addValue(2L).addArray(6.3, 3.3).build();
  private static final RunEnsemble FLOWERS = RunEnsemble.fromText("ensemble: flowers", "/");

  private static final FakeEnsemble<Row, Row> FAKE =
      FakeEnsemble.of(PETALS, SPECIES)
          .withAnswers(row -> species(first(row) < 6 ? "setosa" : "virginica", first(row)));

  @Rule public final transient TestPipeline pipeline = TestPipeline.fromOptions(options());

  private static PipelineOptions options() {
    PipelineOptions options = PipelineOptionsFactory.create();
    options.setRunner(DirectRunner.class);
    return options;
  }

  private static double first(Row row) {
    return row.<Double>getArray("petals").iterator().next();
  }

  private static Row species(String name, double confidence) {
    return Row.withSchema(SPECIES).addValues(name, confidence).build();
  }

  private PCollection<Row> flowers() {
    return pipeline.apply(Create.of(FIRST, SECOND).withRowSchema(FLOWER));
  }

  private static PCollection<String> lines(PCollection<Row> rows) {
    return rows.apply(
        "Lines of " + rows.getName(),
        MapElements.into(TypeDescriptors.strings()).via(row -> row.getValues().toString()));
  }

  private List<Problem> problems(RunEnsemble ensemble) {
    pipeline.enableAbandonedNodeEnforcement(false);
    PCollection<Row> rows = flowers();
    return assertThrows(EnsembleException.class, () -> rows.apply(ensemble)).problems();
  }

  private static void assertProblem(String code, String path, String text, List<Problem> found) {
    assertEquals(found.toString(), 1, found.size());
    assertEquals(code, found.get(0).code());
    assertEquals(path, found.get(0).path());
    assertTrue(found.get(0).message(), found.get(0).message().contains(text));
  }

  @Test
  public void aFunctionAnswersRows() {
    FAKE.replace("flowers", pipeline.getOptions());
    PCollection<Row> scored = flowers().apply(FLOWERS);

    assertEquals(
        List.of("id", "petals", "species", "confidence"), scored.getSchema().getFieldNames());
    PAssert.that(lines(scored))
        .containsInAnyOrder("[1, [5.1, 3.5], setosa, 5.1]", "[2, [6.3, 3.3], virginica, 6.3]");
    pipeline.run();
  }

  @Test
  public void rowsAnswerRows() {
    FakeEnsemble.of(FLOWER, SPECIES)
        .withAnswer(FIRST, species("setosa", 0.9))
        .withFailure(SECOND, new RowFailure("vote", "model_error", "no"))
        .replace("flowers", pipeline.getOptions());
    PCollectionRowTuple both = flowers().apply(FLOWERS.withErrors());

    PAssert.that(lines(both.get("output"))).containsInAnyOrder("[1, [5.1, 3.5], setosa, 0.9]");
    PAssert.that(both.get("errors"))
        .satisfies(
            rows -> {
              Row failed = rows.iterator().next();
              assertEquals(SECOND, failed.getRow("element"));
              assertEquals(
                  List.of("flowers", "vote", "model_error", "no", ""),
                  failed.getValues().subList(1, 6));
              return null;
            });
    pipeline.run();
  }

  @Test
  public void fieldsOfRowsInRowsAreFoundByName() {
    Schema stop = Schema.builder().addInt64Field("at").addStringField("note").build();
    Schema turned = Schema.builder().addStringField("note").addInt64Field("at").build();
    Schema stops = Schema.builder().addArrayField("stops", FieldType.row(stop)).build();
    Schema turnedStops = Schema.builder().addArrayField("stops", FieldType.row(turned)).build();
    Schema last = Schema.builder().addRowField("last", stop).build();
    FakeEnsemble.of(stops, last)
        .withAnswers(
            row -> {
              Row found = row.<Row>getArray("stops").iterator().next();
              return Row.withSchema(last).addValue(found).build();
            })
        .replace("flowers", pipeline.getOptions());
    Row row =
        Row.withSchema(turnedStops)
            .addArray(Row.withSchema(turned).addValues("home", 7L).build())
            .build();
    PCollection<Trip> scored =
        pipeline
            .apply(Create.of(row).withRowSchema(turnedStops))
            .apply(FLOWERS.withPassThrough().as(Trip.class));

    PAssert.that(
            scored.apply(
                MapElements.into(TypeDescriptors.strings())
                    .via(trip -> trip.last.note + " at " + trip.last.at)))
        .containsInAnyOrder("home at 7");
    pipeline.run();
  }

  /** A scored row whose {@code last} has its fields in another order than the ensemble's. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Trip {
    public Stop last;
  }

  @DefaultSchema(JavaFieldSchema.class)
  public static class Stop {
    public String note;
    public long at;
  }

  @Test
  public void bothEncodingsAreAccepted() {
    FAKE.replace("flowers", pipeline.getOptions());
    for (Encoding encoding : Encoding.values()) {
      PCollection<Row> scored =
          pipeline
              .apply("Rows " + encoding, Create.of(FIRST).withRowSchema(FLOWER))
              .apply("Run " + encoding, FLOWERS.withEncoding(encoding));
      PAssert.that(lines(scored)).containsInAnyOrder("[1, [5.1, 3.5], setosa, 5.1]");
    }
    pipeline.run();
  }

  @Test
  public void settingsOfTheCallCount() {
    FAKE.replace("flowers", pipeline.getOptions());
    Schema schema =
        Schema.builder()
            .addInt64Field("id")
            .addArrayField("leaves", FieldType.FLOAT)
            .addStringField("species")
            .build();
    Row row = Row.withSchema(schema).addValues(1L, List.of(0.5f), "unknown").build();
    PCollection<Row> rows = pipeline.apply(Create.of(row).withRowSchema(schema));
    RunEnsemble ensemble = FLOWERS.withColumns(Map.of("petals", "leaves"));

    PCollection<Row> prefixed =
        rows.apply("Prefix", ensemble.withPrefix("p_").withPassThrough("species"));
    PCollection<Row> replaced =
        rows.apply("Replace", ensemble.withPassThrough("id").withProvenance());

    PAssert.that(lines(prefixed)).containsInAnyOrder("[unknown, setosa, 0.5]");
    assertEquals(
        List.of("species", "p_species", "p_confidence"), prefixed.getSchema().getFieldNames());
    PAssert.that(replaced)
        .satisfies(
            all -> {
              Row scored = all.iterator().next();
              assertEquals(List.of(1L, "setosa", 0.5), scored.getValues().subList(0, 3));
              assertEquals("flowers", scored.getRow("provenance").getString("ensemble"));
              return null;
            });
    pipeline.run();
  }

  @Test
  public void keysAndFieldsOfJavasOwnComeBack() {
    FAKE.replace("flowers", pipeline.getOptions());
    Schema schema =
        Schema.builder()
            .addArrayField("petals", FieldType.DOUBLE)
            .addIterableField("own", FieldType.STRING)
            .build();
    Row row = Row.withSchema(schema).addValues(List.of(5.0), List.of("x")).build();
    PCollection<KV<String, Row>> scored =
        pipeline
            .apply(
                Create.of(KV.of("k", row))
                    .withCoder(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(schema))))
            .apply(FLOWERS.keyed());
    PAssert.that(
            scored.apply(
                MapElements.into(TypeDescriptors.strings())
                    .via(pair -> pair.getKey() + pair.getValue().getValues())))
        .containsInAnyOrder("k[[5.0], [x], setosa, 5.0]");
    pipeline.run();
  }

  @Test
  public void eventTimesStay() {
    FAKE.replace("flowers", pipeline.getOptions());
    PCollection<TimestampedValue<Row>> timed =
        pipeline
            .apply(
                Create.timestamped(TimestampedValue.of(FIRST, new Instant(7)))
                    .withCoder(RowCoder.of(FLOWER)))
            .apply(FLOWERS)
            .apply(Reify.timestamps());
    PAssert.that(
            timed.apply(
                MapElements.into(TypeDescriptors.longs())
                    .via(value -> value.getTimestamp().getMillis())))
        .containsInAnyOrder(7L);
    pipeline.run();
  }

  /** What goes in. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Order {
    public long id;
    public Instant at = new Instant(0);
    public String price = "";
    public String color = "";
    public Place place = new Place();
    @javax.annotation.Nullable public Double rebate;
  }

  /** A row in a row. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Place {
    public List<Double> at = List.of();
  }

  /** What comes out. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Delivery {
    public long id;
    public Instant due = new Instant(0);
    public List<Place> stops = List.of();
    @javax.annotation.Nullable public Double rebate;
  }

  private static Delivery deliver(Order order) {
    Delivery delivery = new Delivery();
    delivery.due = order.at.plus(order.price.length() + order.color.length());
    delivery.stops = List.of(order.place);
    return delivery;
  }

  @Test
  public void valuesAreReadAsAnEnsembleReadsThem() {
    EnumerationType color = EnumerationType.create("red", "green");
    Schema schema =
        Schema.builder()
            .addInt32Field("id")
            .addLogicalTypeField("at", SqlTypes.TIMESTAMP)
            .addDecimalField("price")
            .addLogicalTypeField("color", color)
            .addRowField("place", Schema.builder().addArrayField("at", FieldType.FLOAT).build())
            .addNullableField("rebate", FieldType.FLOAT)
            .build();
    Row row =
        Row.withSchema(schema)
            .addValues(
                1,
                java.time.Instant.ofEpochMilli(1000),
                new BigDecimal("12.50"),
                color.valueOf("red"),
                Row.withSchema(schema.getField("place").getType().getRowSchema())
                    .addArray(0.5f)
                    .build(),
                null)
            .build();
    FakeEnsemble.of(Order.class, Delivery.class)
        .withAnswers(FakeEnsembleTest::deliver)
        .replace("orders", pipeline.getOptions());
    PCollection<Row> rows = pipeline.apply(Create.of(row).withRowSchema(schema));
    RunEnsemble orders = RunEnsemble.fromUri("gs://models/orders.yaml");

    PCollection<Row> scored = rows.apply("Rows", orders.withPassThrough());
    assertEquals(
        FieldType.logicalType(new MicrosInstant()), scored.getSchema().getField("due").getType());
    PAssert.that(scored)
        .satisfies(
            all -> {
              Row one = all.iterator().next();
              assertEquals(java.time.Instant.ofEpochMilli(1008), one.getValue("due"));
              Row stop = one.<Row>getArray("stops").iterator().next();
              assertEquals(List.of(0.5), List.copyOf(stop.<Double>getArray("at")));
              return null;
            });
    pipeline.run();
  }

  /** The wanted part of a scored order. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Due {
    public Instant due = new Instant(0);
  }

  @Test
  public void objectsComeOutAsTheirTypeWantsThem() {
    FakeEnsemble.of(Order.class, Delivery.class)
        .withAnswers(FakeEnsembleTest::deliver)
        .replace("orders", pipeline.getOptions());
    PCollection<Due> due =
        pipeline
            .apply(Create.of(new Order()))
            .apply(RunEnsemble.fromUri("gs://models/orders.yaml").as(Due.class));
    PAssert.that(due.apply(MapElements.into(TypeDescriptors.longs()).via(it -> it.due.getMillis())))
        .containsInAnyOrder(0L);
    pipeline.run();
  }

  @Test
  public void aNullWhereNoneIsDeclaredFailsItsRow() {
    Schema schema =
        Schema.builder().addNullableField("petals", FieldType.array(FieldType.DOUBLE)).build();
    FAKE.replace("flowers", pipeline.getOptions());
    PCollectionRowTuple both =
        pipeline
            .apply(Create.of(Row.withSchema(schema).addValue(null).build()).withRowSchema(schema))
            .apply(FLOWERS.withErrors());
    PAssert.that(both.get("output")).empty();
    PAssert.that(both.get("errors"))
        .satisfies(
            rows -> {
              Row failed = rows.iterator().next();
              assertEquals("null_value", failed.getString("code"));
              assertEquals("", failed.getString("node"));
              return null;
            });
    pipeline.run();
  }

  @Test
  public void aFailureFailsTheBundleWhereNoErrorsAreTaken() {
    FakeEnsemble.of(PETALS, SPECIES)
        .withAnswers(
            row -> {
              throw new RowFailure("vote", "model_error", "the model is on strike");
            })
        .replace("flowers", pipeline.getOptions());
    flowers().apply(FLOWERS);

    Exception error = assertThrows(RuntimeException.class, pipeline::run);
    String expected = "could not score a row: [model_error] nodes.vote: the model is on strike";
    assertTrue(error.getMessage(), error.getMessage().contains(expected));
  }

  @Test
  public void aRowWithoutAnAnswerFailsTheTestThatForgotIt() {
    FakeEnsemble.of(FLOWER, SPECIES)
        .withAnswer(FIRST, species("setosa", 0.9))
        .replace("flowers", pipeline.getOptions());
    flowers().apply(FLOWERS.withErrors());

    Exception error = assertThrows(RuntimeException.class, pipeline::run);
    assertTrue(error.getMessage(), error.getMessage().contains("has no answer for the row"));
  }

  @Test
  public void aMistakeInTheTestsOwnFunctionFailsTheTest() {
    FakeEnsemble.of(PETALS, SPECIES)
        .withAnswers(row -> Row.withSchema(PETALS).addArray(1.0).build())
        .replace("flowers", pipeline.getOptions());
    flowers().apply(FLOWERS.withErrors());

    Exception error = assertThrows(RuntimeException.class, pipeline::run);
    assertTrue(
        error.getMessage(), error.getMessage().contains("the answer has no field 'species'"));
  }

  @Test
  public void anAnswerHasNoNullWhereNoneIsDeclared() {
    FakeEnsemble<Row, Row> fake = FakeEnsemble.of(PETALS, SPECIES);
    Schema nullable = Schema.builder().addNullableStringField("species").build();
    Row answer = Row.withSchema(nullable).addValue(null).build();
    Exception error =
        assertThrows(IllegalArgumentException.class, () -> fake.withAnswer(FIRST, answer));
    assertTrue(error.getMessage(), error.getMessage().contains("'species'"));
  }

  @Test
  public void unknownAndMissingParametersAreRefused() {
    FAKE.replace("p", pipeline.getOptions());
    RunEnsemble ensemble =
        RunEnsemble.fromText(
            """
            ensemble: p  # not ${this}
            nodes: {cut: {apply: sql, when: "confidence < ${cut}"}}
            """,
            "/");
    assertProblem(
        "unknown_parameter",
        "parameters",
        "'cutt'",
        problems(ensemble.withParameters(Map.of("cutt", "1", "cut", "1"))));
    PCollection<Row> rows = pipeline.apply("More", Create.of(FIRST).withRowSchema(FLOWER));
    EnsembleException missing =
        assertThrows(EnsembleException.class, () -> rows.apply("Again", ensemble));
    assertProblem("missing_parameter", "$", "'cut'", missing.problems());
  }

  @Test
  public void rowsThatTheEnsembleCannotReadAreRefused() {
    FakeEnsemble.of(Schema.builder().addInt32Field("id").addStringField("name").build(), SPECIES)
        .replace("flowers", pipeline.getOptions());
    List<Problem> problems = problems(FLOWERS);
    assertEquals(
        Arrays.asList("field_type", "missing_field"),
        problems.stream().map(Problem::code).toList());
    assertEquals(
        "the incoming rows have 'id' as int64, and the ensemble declares int32; numbers may only"
            + " become wider",
        problems.get(0).message());
    assertEquals("input.name", problems.get(1).path());
  }

  @Test
  public void namesThatTheCallHasWrongAreRefused() {
    FAKE.replace("flowers", pipeline.getOptions());
    assertProblem(
        "unknown_column",
        "columns.petal",
        "no input 'petal'",
        problems(FLOWERS.withColumns(Map.of("petal", "id"))));
  }

  @Test
  public void aColumnHidesNoField() {
    FakeEnsemble.of(PETALS, Schema.builder().addInt64Field("id").build())
        .withAnswers(row -> row)
        .replace("flowers", pipeline.getOptions());
    assertProblem("column_exists", "outputs.id", "would hide", problems(FLOWERS));
  }

  @Test
  public void rowsThatDoNotFitAreTheCause() {
    FAKE.replace("flowers", pipeline.getOptions());
    pipeline.enableAbandonedNodeEnforcement(false);
    PCollection<Row> rows = flowers();
    String said =
        assertThrows(EnsembleException.class, () -> rows.apply(FLOWERS.withPassThrough("idd")))
            .getMessage();
    assertTrue(said, said.startsWith("the rows do not fit ensemble 'flowers': 1 problem\n"));
  }

  @Test
  public void fieldsToPassThroughAreThere() {
    FAKE.replace("flowers", pipeline.getOptions());
    assertProblem(
        "missing_field", "pass_through", "'idd'", problems(FLOWERS.withPassThrough("idd")));
  }

  /** A type that the scored rows do not fit. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Wrong {
    public String confidence = "";
    public long rank;
  }

  @Test
  public void theTypeOfScoredRowsIsChecked() {
    pipeline.enableAbandonedNodeEnforcement(false);
    FAKE.replace("flowers", pipeline.getOptions());
    PCollection<Row> rows = flowers();
    EnsembleException error =
        assertThrows(EnsembleException.class, () -> rows.apply(FLOWERS.as(Wrong.class)));
    assertEquals(
        List.of(
            "the caller's type has 'confidence' as string, but the ensemble gives double",
            "the caller's type has a field 'rank', which the ensemble's output lacks (fields: id,"
                + " petals, species, confidence)"),
        error.problems().stream().map(Problem::message).sorted().toList());
  }

  @Test
  public void aFieldThatTakesNoNullIsToBeBoxed() {
    pipeline.enableAbandonedNodeEnforcement(false);
    FakeEnsemble.of(
            PETALS,
            Schema.builder()
                .addStringField("confidence")
                .addNullableField("rank", FieldType.INT64)
                .build())
        .replace("flowers", pipeline.getOptions());
    PCollection<Row> rows = flowers();
    EnsembleException error =
        assertThrows(EnsembleException.class, () -> rows.apply(FLOWERS.as(Wrong.class)));
    assertTrue(
        error.getMessage(),
        error
            .getMessage()
            .startsWith("the caller's type does not fit the output of ensemble 'flowers': "));
    assertProblem(
        "output_schema_mismatch",
        "output_schema.rank",
        "the ensemble gives int64?; declare the field with a boxed type and @Nullable",
        error.problems());
  }

  @Test
  public void anEnsembleThatIsNotReplacedIsAnError() {
    pipeline.enableAbandonedNodeEnforcement(false);
    FAKE.replace("flower", pipeline.getOptions());
    PCollection<Row> rows = flowers();
    EnsembleException error = assertThrows(EnsembleException.class, () -> rows.apply(FLOWERS));
    assertEquals(
        "no FakeEnsemble replaces the ensemble 'flowers' in this pipeline (replaced: flower); add"
            + " one with replace(\"flowers\", options)",
        error.getMessage());
  }

  @Test
  public void theDirectRunnerIsStillRefusedWithoutAFake() {
    pipeline.enableAbandonedNodeEnforcement(false);
    PCollection<Row> rows = flowers();
    EnsembleException error = assertThrows(EnsembleException.class, () -> rows.apply(FLOWERS));
    assertTrue(error.getMessage(), error.getMessage().startsWith("the DirectRunner of Beam"));
    assertTrue(error.getMessage(), error.getMessage().endsWith("with a FakeEnsemble"));
  }

  @Test
  public void typesThatNoEnsembleGivesAreRefused() {
    pipeline.enableAbandonedNodeEnforcement(false);
    FakeEnsemble.of(PETALS, Schema.builder().addInt16Field("rank").build())
        .replace("flowers", pipeline.getOptions());
    PCollection<Row> rows = flowers();
    Exception error = assertThrows(IllegalArgumentException.class, () -> rows.apply(FLOWERS));
    assertTrue(error.getMessage(), error.getMessage().contains("gives 'rank' as int16, which is"));
  }

  @Test
  public void anEnsembleAddsAColumn() {
    Exception error =
        assertThrows(IllegalArgumentException.class, () -> FakeEnsemble.of(FLOWER, PETALS));
    assertTrue(error.getMessage(), error.getMessage().contains("adds a column"));
  }
}
