package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.Serializable;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.FixedBytes;
import org.apache.beam.sdk.schemas.logicaltypes.NanosInstant;
import org.apache.beam.sdk.schemas.logicaltypes.SqlTypes;
import org.apache.beam.sdk.schemas.logicaltypes.VariableString;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Fields of Java's own types are read by expressions, pass through, and are given back. */
@RunWith(JUnit4.class)
public class TypesIntegrationTest implements Serializable {

  private static final RunEnsemble STAYS =
      RunEnsemble.fromText(
          """
          ensemble: stays
          inputs:
            joda: timestamp
            exact: "timestamp?"
            fine: timestamp
            cut: {type: timestamp, nanoseconds: truncate}
            day: timestamp
            hour: timestamp
            both: timestamp
            times: "array<timestamp>"
            small: int32
            tiny: int64
            color: string
            code: string
            raw: bytes
            price: string
          nodes:
            compare:
              apply: sql
              select:
                later: "joda + INTERVAL '1 hour'"
                after: "exact + INTERVAL '1 hour'"
                whole: "cut + INTERVAL '0 seconds'"
                late: "day >= DATE '2026-01-01' AND EXTRACT(hour FROM hour) = 9 AND both > day"
                same: "fine = joda"
                back: ARRAY_REVERSE(times)
                total: "small + tiny"
                euros: CAST(price AS DOUBLE)
                paint: "CONCAT(color, code)"
              outputs:
                {later: timestamp, after: "timestamp?", whole: timestamp, late: boolean, same: boolean,
                 back: "array<timestamp>", total: int64, euros: double, paint: string}
            image: {combine: first, inputs: [raw], outputs: {copy: bytes}}
          outputs: [later, after, whole, late, same, back, total, euros, paint, copy]
          """,
          "/");

  private static final EnumerationType COLOR = EnumerationType.create("red", "green");
  private static final FieldType NANOS = FieldType.logicalType(new NanosInstant());

  private static final Schema SCHEMA =
      Schema.builder()
          .addDateTimeField("joda")
          .addNullableField("exact", FieldType.logicalType(SqlTypes.TIMESTAMP))
          .addField("fine", NANOS)
          .addField("cut", NANOS)
          .addField("unread", NANOS)
          .addLogicalTypeField("day", SqlTypes.DATE)
          .addLogicalTypeField("hour", SqlTypes.TIME)
          .addLogicalTypeField("both", SqlTypes.DATETIME)
          .addArrayField("times", NANOS)
          .addField("small", FieldType.INT16)
          .addField("tiny", FieldType.BYTE)
          .addLogicalTypeField("color", COLOR)
          .addLogicalTypeField("code", VariableString.of(20))
          .addLogicalTypeField("raw", FixedBytes.of(3))
          .addDecimalField("price")
          .build();

  private static final Instant NOON = Instant.parse("2026-01-01T12:00:00Z");
  private static final Instant MICROS = Instant.parse("2026-01-01T12:00:00.000005Z");
  private static final Instant FINER = Instant.parse("2026-01-01T12:00:00.000005007Z");

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  private static List<Object> values(Instant exact, Instant fine) {
    return Arrays.asList(
        org.joda.time.Instant.ofEpochMilli(NOON.toEpochMilli()),
        exact,
        fine,
        FINER,
        FINER,
        LocalDate.of(2026, 1, 1),
        LocalTime.of(9, 30, 0, 1_000),
        LocalDateTime.of(2026, 1, 1, 0, 0, 1),
        List.of(NOON, MICROS),
        (short) -300,
        (byte) -1,
        COLOR.valueOf("green"),
        "-7",
        new byte[] {1, 0, -1},
        new BigDecimal("12.340"));
  }

  private static Row row(Instant exact, Instant fine) {
    return Row.withSchema(SCHEMA).addValues(values(exact, fine)).build();
  }

  @Test
  public void rowsCross() {
    check(Encoding.ROWS);
  }

  @Test
  public void batchesCross() {
    check(Encoding.ARROW);
  }

  private void check(Encoding encoding) {
    Row bad = row(MICROS, FINER);
    PCollection<Row> rows =
        pipeline.apply(Create.of(row(MICROS, NOON), row(null, NOON), bad).withRowSchema(SCHEMA));

    PCollectionRowTuple found = rows.apply(STAYS.withEncoding(encoding).withErrors());

    Schema scored = found.get("output").getSchema();
    PAssert.that(found.get("output"))
        .containsInAnyOrder(expected(scored, MICROS), expected(scored, null));
    PAssert.thatSingleton(found.get("errors"))
        .satisfies(
            failed -> {
              assertEquals(bad, failed.getRow("element"));
              assertTrue(failed.getString("msg").contains("nanoseconds: truncate"));
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  private static Row expected(Schema scored, Instant exact) {
    List<Object> all = new ArrayList<>(values(exact, NOON));
    all.addAll(
        Arrays.asList(
            NOON.plusSeconds(3600),
            exact == null ? null : exact.plusSeconds(3600),
            MICROS,
            true,
            true,
            List.of(MICROS, NOON),
            -301L,
            12.34,
            "green-7",
            new byte[] {1, 0, -1}));
    return Row.withSchema(scored).addValues(all).build();
  }

  /** A scored row with fields that Java programs have. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Judged implements Serializable {
    public org.joda.time.Instant later;
    public boolean late;
    public short small;

    @Override
    public String toString() {
      return later + " " + late + " " + small;
    }
  }

  @Test
  public void rowsBecomeObjects() {
    checkObjects(Encoding.ROWS);
  }

  @Test
  public void batchesBecomeObjects() {
    checkObjects(Encoding.ARROW);
  }

  private void checkObjects(Encoding encoding) {
    PCollection<Judged> found =
        pipeline
            .apply(Create.of(row(null, NOON)).withRowSchema(SCHEMA))
            .apply(STAYS.withEncoding(encoding).as(Judged.class));

    PAssert.that(found.apply(ParDo.of(new Shown())))
        .containsInAnyOrder("2026-01-01T13:00:00.000Z true -300");
    pipeline.run().waitUntilFinish();
  }

  private static final class Shown extends DoFn<Judged, String> {
    @ProcessElement
    public void process(@Element Judged row, OutputReceiver<String> output) {
      output.output(Objects.toString(row));
    }
  }
}
