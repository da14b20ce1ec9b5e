package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.complex.impl.UnionFixedSizeListWriter;
import org.apache.arrow.vector.complex.impl.UnionLargeListWriter;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.MicrosInstant;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Instant;
import org.junit.After;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link BatchWriter} and {@link BatchReader}: neither leaves memory behind. */
@RunWith(JUnit4.class)
public class RecordBatchTest {

  private static final Schema NUMBERS =
      Schema.builder().addInt64Field("id").addArrayField("xs", FieldType.DOUBLE).build();
  private static final List<TimestampedValue<Row>> ROWS =
      List.of(at(5, 1L, List.of(1.0, 2.0)), at(-7, 2L, List.of(3.0, Double.NaN)));

  private final BufferAllocator memory = new RootAllocator();

  private static TimestampedValue<Row> at(long millis, Object... values) {
    Row row = Row.withSchema(NUMBERS).addValues(values).build();
    return TimestampedValue.of(row, Instant.ofEpochMilli(millis));
  }

  /** Fails where something is still allocated. */
  @After
  public void nothingLeaks() {
    memory.close();
  }

  private BufferAllocator own() {
    return memory.newChildAllocator("test", 0, Long.MAX_VALUE);
  }

  private byte[] written(Schema schema, List<TimestampedValue<Row>> rows) {
    try (BatchWriter writer = new BatchWriter(schema, own())) {
      return writer.write(rows);
    }
  }

  private List<TimestampedValue<Row>> read(Schema schema, byte[] bytes) {
    try (BatchReader reader = new BatchReader(schema, own())) {
      return reader.read(bytes);
    }
  }

  @Test
  public void rowsOfManySchemasComeBackAsTheyWere() {
    for (long seed = 0; seed < 400; seed++) {
      RandomRows random = new RandomRows(seed);
      Schema schema = random.schema();
      try (BatchWriter writer = new BatchWriter(schema, own());
          BatchReader reader = new BatchReader(schema, own())) {
        for (int count : new int[] {7, 0, 1, 90}) {
          List<TimestampedValue<Row>> rows = random.rows(schema, count);
          assertEquals("seed " + seed, rows, reader.read(writer.write(rows)));
          assertEquals("seed " + seed, 0, memory.getAllocatedMemory());
        }
      }
    }
  }

  @Test
  public void aRowMayBeLargerThanABatch() {
    Schema schema = Schema.builder().addStringField("text").addByteArrayField("bytes").build();
    Row row = Row.withSchema(schema).addValues("ё".repeat(3_000_000), new byte[9_000_000]).build();
    List<TimestampedValue<Row>> rows = List.of(TimestampedValue.of(row, new Instant(1)));

    assertEquals(rows, read(schema, Uncompressed.stream(written(schema, rows))));
  }

  @Test
  public void aMissingValueIsNamed() {
    Schema inner = Schema.builder().addArrayField("xs", FieldType.DOUBLE).build();
    Schema schema = Schema.builder().addRowField("inner", inner).build();
    Row nested = Row.withSchema(inner).attachValues(List.of(Arrays.asList(1.0, null)));
    Row row = Row.withSchema(schema).attachValues(List.of(nested));

    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class,
            () -> written(schema, List.of(TimestampedValue.of(row, Instant.EPOCH))));

    assertEquals("a row has no 'inner.xs[]', whose type double has no null", error.getMessage());
  }

  @Test
  public void aWriterSurvivesARowThatItRefuses() {
    Row empty = Row.withSchema(NUMBERS).attachValues(Arrays.asList(null, null));
    try (BatchWriter writer = new BatchWriter(NUMBERS, own())) {
      assertThrows(
          IllegalArgumentException.class,
          () -> writer.write(List.of(TimestampedValue.of(empty, Instant.EPOCH))));

      assertEquals(ROWS, read(NUMBERS, writer.write(ROWS)));
    }
  }

  @Test
  public void aPointInTimeTooFarAwayIsNamed() {
    Schema schema = Schema.builder().addDateTimeField("at").build();
    Row row = Row.withSchema(schema).addValue(new Instant(Long.MAX_VALUE)).build();

    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class,
            () -> written(schema, List.of(TimestampedValue.of(row, Instant.EPOCH))));

    assertTrue(
        error.getMessage(),
        error.getMessage().startsWith("'at' is +292278994-08-17T07:12:55.807Z, farther"));
  }

  @Test
  public void pointsInTimeAreReadFromMicroseconds() {
    Schema sent = Schema.builder().addInt64Field("exact").addNullableInt64Field("joda").build();
    Schema received =
        Schema.builder()
            .addLogicalTypeField("exact", new MicrosInstant())
            .addNullableField("joda", FieldType.DATETIME)
            .build();
    Row row = Row.withSchema(sent).addValues(-1L, -1L).build();
    byte[] bytes = written(sent, List.of(TimestampedValue.of(row, Instant.EPOCH)));

    Row found = read(received, bytes).get(0).getValue();

    assertEquals(
        java.time.Instant.parse("1969-12-31T23:59:59.999999Z"),
        found.getLogicalTypeValue("exact", java.time.Instant.class));
    assertEquals(new Instant(-1), found.getDateTime("joda"));
  }

  /** Writes a batch as another program might. */
  private byte[] foreign(VectorSchemaRoot root, int batches) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
      writer.start();
      for (int batch = 0; batch < batches; batch++) {
        writer.writeBatch();
      }
    }
    return bytes.toByteArray();
  }

  @Test
  public void listsMayHaveAnyOfArrowsLayouts() throws IOException {
    Schema schema =
        Schema.builder()
            .addArrayField("large", FieldType.INT64)
            .addArrayField("fixed", FieldType.INT64)
            .build();
    try (LargeListVector large = LargeListVector.empty("large", memory);
        FixedSizeListVector fixed = FixedSizeListVector.empty("fixed", 2, memory);
        BigIntVector times = new BigIntVector("__event_time", memory)) {
      UnionLargeListWriter largeWriter = large.getWriter();
      UnionFixedSizeListWriter fixedWriter = fixed.getWriter();
      for (long row = 0; row < 3; row++) {
        largeWriter.startList();
        fixedWriter.startList();
        for (long item = 0; item < 2; item++) {
          largeWriter.writeBigInt(row);
          fixedWriter.writeBigInt(item);
        }
        largeWriter.endList();
        fixedWriter.endList();
        times.setSafe((int) row, 1000 * row);
      }
      VectorSchemaRoot root = VectorSchemaRoot.of(large, fixed, times);
      root.setRowCount(3);

      List<TimestampedValue<Row>> rows = read(schema, foreign(root, 1));

      Row last = Row.withSchema(schema).addValues(List.of(2L, 2L), List.of(0L, 1L)).build();
      assertEquals(TimestampedValue.of(last, new Instant(2)), rows.get(2));
    }
  }

  private void assertRefused(byte[] bytes, String... words) {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> read(NUMBERS, bytes));
    assertFalse(error.getMessage(), error.getMessage().contains("\n"));
    for (String word : words) {
      assertTrue(error.getMessage(), error.getMessage().contains(word));
    }
    assertEquals(0, memory.getAllocatedMemory());
  }

  @Test
  public void whatIsNoBatchIsRefused() throws IOException {
    byte[] good = written(NUMBERS, ROWS);
    assertRefused(new byte[0], "is not an Arrow batch");
    assertRefused("not Arrow at all".getBytes(UTF_8), "is not an Arrow batch");
    assertRefused(Arrays.copyOf(good, good.length / 2), "is not an Arrow batch");
    try (VectorSchemaRoot root = VectorSchemaRoot.create(ArrowSchema.of(NUMBERS), memory)) {
      assertRefused(foreign(root, 0), "holds no record batch");
      assertRefused(foreign(root, 2), "more than one record batch");
    }
  }

  @Test
  public void otherColumnsAreRefused() {
    Schema renamed = Schema.builder().addInt64Field("number").addInt64Field("xs").build();
    Schema retyped = Schema.builder().addInt64Field("id").addInt64Field("xs").build();
    Schema nullable =
        Schema.builder()
            .addNullableField("id", FieldType.INT64)
            .addArrayField("xs", FieldType.DOUBLE)
            .build();
    Row empty = Row.withSchema(nullable).addValues(null, List.of()).build();

    assertRefused(written(renamed, List.of()), "its columns are [number, xs, __event_time]");
    assertRefused(written(retyped, List.of()), "'xs' is", "not of type array<double>");
    assertRefused(
        written(nullable, List.of(TimestampedValue.of(empty, Instant.EPOCH))), "'id' is null");
  }

  @Test
  public void damagedBatchesLeaveNothingBehind() {
    byte[] good = written(NUMBERS, ROWS);
    Random random = new Random(1);
    List<String> answers = new ArrayList<>();
    Consumer<byte[]> readOrRefuse =
        bytes -> {
          try {
            answers.add("read " + read(NUMBERS, bytes).size());
          } catch (IllegalArgumentException e) {
            answers.add("refused");
          }
          assertEquals(0, memory.getAllocatedMemory());
        };
    for (int at = 0; at < 2000; at++) {
      byte[] bad = good.clone();
      bad[random.nextInt(bad.length)] ^= (byte) (1 << random.nextInt(8));
      readOrRefuse.accept(bad);
    }
    assertTrue(answers.contains("refused"));
  }
}
