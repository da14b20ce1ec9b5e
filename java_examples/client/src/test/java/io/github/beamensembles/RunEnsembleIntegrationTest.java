package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.GlobalWindows;
import org.apache.beam.sdk.transforms.windowing.Window;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Duration;
import org.joda.time.Instant;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Runs an ensemble that needs no models, with the real service on the real Prism. */
@RunWith(JUnit4.class)
public class RunEnsembleIntegrationTest implements Serializable {

  private static final RunEnsemble AVERAGE =
      RunEnsemble.fromText(
          """
          ensemble: average
          inputs: {a: double, b: double}
          nodes:
            both: {combine: mean, inputs: [a, b], outputs: {average: double}}
          """,
          "/");

  private static final EnumerationType COLOR = EnumerationType.create("red", "green");

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  /** A pair of numbers. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Pair implements Serializable {
    public double a;
    public double b;
    public short rank;

    public static Pair of(double a, double b, int rank) {
      Pair pair = new Pair();
      pair.a = a;
      pair.b = b;
      pair.rank = (short) rank;
      return pair;
    }
  }

  /** What the tests want of a scored pair. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Average implements Serializable {
    public double average;
    public short rank;

    @Override
    public String toString() {
      return average + " at " + rank;
    }
  }

  private static Schema.Builder numbers() {
    return Schema.builder().addNullableField("a", FieldType.DOUBLE).addDoubleField("b");
  }

  private static final Schema NUMBERS = numbers().build();

  private static Row numbers(Double a, double b) {
    return Row.withSchema(NUMBERS).addValues(a, b).build();
  }

  private PCollection<Row> rows(Row first, Row... others) {
    return pipeline.apply(Create.of(first, others).withRowSchema(first.getSchema()));
  }

  @Test
  public void scoredRowsBecomeObjects() {
    PCollection<Average> scored =
        pipeline
            .apply(Create.of(Pair.of(1, 2, 7), Pair.of(3, 5, -8)))
            .apply(AVERAGE.as(Average.class));

    PAssert.that(scored.apply(ParDo.of(new Shown<>()))).containsInAnyOrder("1.5 at 7", "4.0 at -8");
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void rowsThatCannotBeScoredComeOutApart() {
    PCollectionRowTuple both =
        rows(numbers(1.0, 2.0), numbers(null, 2.0)).apply(AVERAGE.withErrors());

    PAssert.that(both.get("output"))
        .containsInAnyOrder(
            Row.withSchema(both.get("output").getSchema()).addValues(1.0, 2.0, 1.5).build());
    PAssert.thatSingleton(both.get("errors"))
        .satisfies(
            failed -> {
              assertEquals(
                  List.of("element", "ensemble", "node", "code", "msg", "stack"),
                  failed.getSchema().getFieldNames());
              assertEquals(numbers(null, 2.0), failed.getRow("element"));
              assertEquals("average", failed.getString("ensemble"));
              assertTrue(failed.toString(), failed.getString("msg").contains("a"));
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void withoutAnErrorOutputTheMessageFailsThePipeline() {
    rows(numbers(null, 2.0)).apply(AVERAGE);

    RuntimeException error =
        assertThrows(RuntimeException.class, () -> pipeline.run().waitUntilFinish());

    assertTrue(error.toString(), error.toString().contains("could not score a row"));
  }

  @Test
  public void keyedRowsComeOutKeyed() {
    Schema schema = numbers().addInt16Field("rank").build();
    Row good = Row.withSchema(schema).addValues(1.0, 2.0, (short) 7).build();
    Row bad = Row.withSchema(schema).addValues(null, 2.0, (short) -8).build();
    PCollection<KV<String, Row>> input =
        pipeline.apply(
            Create.of(KV.of("x", good), KV.of("y", bad))
                .withCoder(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(schema))));

    WithFailures.Result<PCollection<KV<String, Average>>, KV<String, Row>> both =
        input.apply(AVERAGE.withErrors().as(Average.class).keyed());

    PAssert.that(both.output().apply(ParDo.of(new Shown<>())))
        .containsInAnyOrder("KV{x, 1.5 at 7}");
    PAssert.thatSingleton(both.failures())
        .satisfies(
            failed -> {
              assertEquals("y", failed.getKey());
              assertEquals(bad, failed.getValue().getRow("element"));
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void fieldsOfJavasTypesAreUntouched() {
    Schema nested = Schema.builder().addDecimalField("net").addNullableStringField("note").build();
    Schema schema =
        Schema.builder()
            .addDecimalField("price")
            .addNullableField("a", FieldType.DOUBLE)
            .addDateTimeField("seen")
            .addDoubleField("b")
            .addField("rank", FieldType.INT16)
            .addByteField("flag")
            .addLogicalTypeField("color", COLOR)
            .addNullableField("late", FieldType.DATETIME)
            .addRowField("bill", nested)
            .build();
    List<Object> values =
        Arrays.asList(
            new BigDecimal("12.340"),
            1.0,
            Instant.ofEpochMilli(1_700_000_000_123L),
            2.0,
            (short) -3,
            (byte) 4,
            COLOR.valueOf("green"),
            null,
            Row.withSchema(nested).addValues(new BigDecimal("1E+3"), null).build());
    Row row = Row.withSchema(schema).addValues(values).build();
    List<Object> withoutNumber = new ArrayList<>(values);
    withoutNumber.set(1, null);
    Row failing = Row.withSchema(schema).addValues(withoutNumber).build();

    PCollectionRowTuple both = rows(row, failing).apply(AVERAGE.withErrors());

    Schema scored = both.get("output").getSchema();
    assertEquals(
        List.of("price", "a", "seen", "b", "rank", "flag", "color", "late", "bill", "average"),
        scored.getFieldNames());
    PAssert.that(both.get("output"))
        .containsInAnyOrder(Row.withSchema(scored).addValues(values).addValue(1.5).build());
    PAssert.thatSingleton(both.get("errors"))
        .satisfies(
            failed -> {
              assertEquals(failing, failed.getRow("element"));
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void fieldsThatNoModelReadsPassThrough() {
    Schema nested =
        Schema.builder().addStringField("class").addArrayField("_xs", FieldType.INT32).build();
    Schema schema =
        numbers()
            .addStringField("class")
            .addInt32Field("_x")
            .addByteArrayField("my-field")
            .addRowField("nested", nested)
            .addArrayField("list", FieldType.row(nested))
            .addMapField("map", FieldType.STRING, FieldType.FLOAT.withNullable(true))
            .addNullableStringField("void")
            .addArrayField("texts", FieldType.STRING.withNullable(true))
            .build();
    Row inner = Row.withSchema(nested).addValues("c", List.of(1, -2)).build();
    List<Object> values =
        Arrays.asList(
            1.0,
            2.0,
            "text",
            -5,
            new byte[] {0, -1},
            inner,
            List.of(inner, inner),
            Map.of("k", 1.5f),
            null,
            Arrays.asList("t", null));
    Row row = Row.withSchema(schema).addValues(values).build();

    PCollection<Row> scored = rows(row).apply(AVERAGE);

    PAssert.that(scored)
        .containsInAnyOrder(
            Row.withSchema(scored.getSchema()).addValues(values).addValue(1.5).build());
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void eventTimesAreKept() {
    PCollection<Row> input =
        pipeline.apply(
            Create.timestamped(
                    TimestampedValue.of(numbers(1.0, 2.0), new Instant(1_500)),
                    TimestampedValue.of(numbers(3.0, 4.0), new Instant(61_250)))
                .withCoder(RowCoder.of(NUMBERS)));

    PCollection<Row> windowed =
        input.apply(Window.into(FixedWindows.of(Duration.standardMinutes(1))));

    PAssert.that(input.apply("global", AVERAGE).apply("times", ParDo.of(new Times())))
        .containsInAnyOrder("1.5 at 1500", "3.5 at 61250");
    PAssert.that(
            windowed
                .apply("minutes", AVERAGE)
                .apply("times in minutes", ParDo.of(new Times()))
                .apply("to global", Window.into(new GlobalWindows())))
        .containsInAnyOrder("1.5 at 1500", "3.5 at 61250");
    pipeline.run().waitUntilFinish();
  }

  @Test
  public void optionsReachTheService() {
    Schema schema = Schema.builder().addDoubleField("left").addDoubleField("b").build();
    PCollection<Row> scored =
        rows(Row.withSchema(schema).addValues(1.0, 2.0).build())
            .apply(
                AVERAGE.withColumns(Map.of("a", "left")).withPrefix("my_").withPassThrough("left"));

    assertEquals(List.of("left", "my_average"), scored.getSchema().getFieldNames());
    PAssert.that(scored)
        .containsInAnyOrder(Row.withSchema(scored.getSchema()).addValues(1.0, 1.5).build());
    pipeline.run().waitUntilFinish();
  }

  private static class Shown<T> extends DoFn<T, String> {
    @ProcessElement
    public void process(@Element T element, OutputReceiver<String> output) {
      output.output(element.toString());
    }
  }

  private static class Times extends DoFn<Row, String> {
    @ProcessElement
    public void process(@Element Row row, @Timestamp Instant time, OutputReceiver<String> output) {
      output.output(row.getDouble("average") + " at " + time.getMillis());
    }
  }
}
