package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleSupplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Instant;
import org.junit.After;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for which batches {@link BatchWriter} compresses, and that they read the same. */
@RunWith(JUnit4.class)
public class CompressionTest {

  private static final Schema XS = Schema.builder().addArrayField("xs", FieldType.DOUBLE).build();

  private final BufferAllocator memory = new RootAllocator();
  private final Random random = new Random(1);
  private final BatchWriter writer = new BatchWriter(XS, own());

  private BufferAllocator own() {
    return memory.newChildAllocator("test", 0, Long.MAX_VALUE);
  }

  @After
  public void nothingLeaks() {
    writer.close();
    memory.close();
  }

  private static List<TimestampedValue<Row>> rows(int count, DoubleSupplier x) {
    List<TimestampedValue<Row>> rows = new ArrayList<>();
    for (int index = 0; index < count; index++) {
      List<Double> xs = new ArrayList<>();
      for (int item = 0; item < 64; item++) {
        xs.add(x.getAsDouble());
      }
      Row row = Row.withSchema(XS).addValue(xs).build();
      rows.add(TimestampedValue.of(row, Instant.ofEpochMilli(index)));
    }
    return rows;
  }

  private List<TimestampedValue<Row>> smallNumbers(int count) {
    return rows(count, () -> random.nextInt(17));
  }

  private List<TimestampedValue<Row>> anyNumbers(int count) {
    return rows(count, random::nextDouble);
  }

  private boolean compresses(List<TimestampedValue<Row>> rows) {
    byte[] bytes = writer.write(rows);
    assertEquals(0, memory.getAllocatedMemory());
    assertEquals(rows, read(XS, Uncompressed.stream(bytes)));
    return Uncompressed.differs(bytes);
  }

  private List<TimestampedValue<Row>> read(Schema schema, byte[] bytes) {
    try (BatchReader reader = new BatchReader(schema, own())) {
      return reader.read(bytes);
    }
  }

  @Test
  public void whatBecomesSmallerIsCompressed() {
    List<TimestampedValue<Row>> rows = smallNumbers(1000);

    byte[] bytes = writer.write(rows);

    assertTrue("bytes: " + bytes.length, bytes.length < 1000 * 64 * 8 / 2);
    for (int batch = 0; batch < 5; batch++) {
      assertTrue(compresses(rows));
    }
  }

  @Test
  public void whatIsSmallIsLeftAsItIs() {
    assertFalse(compresses(List.of()));
    assertFalse(compresses(smallNumbers(1)));
    assertFalse(compresses(smallNumbers(100)));
    assertTrue(compresses(smallNumbers(200)));
  }

  @Test
  public void whatSavesLittleIsTriedAgainLater() {
    List<TimestampedValue<Row>> rows = anyNumbers(200);
    assertTrue(compresses(rows));
    for (int batch = 0; batch < Compression.PLAIN_BATCHES; batch++) {
      assertFalse(compresses(smallNumbers(1)));
      assertFalse("batch " + batch, compresses(rows));
    }

    assertTrue(compresses(rows));
    assertFalse(compresses(rows));
  }

  @Test
  public void buffersOfManyBlocksReadTheSame() {
    Schema schema = Schema.builder().addByteArrayField("mixed").addByteArrayField("zeros").build();
    byte[] mixed = new byte[9_000_000];
    byte[] chance = new byte[4_500_000];
    random.nextBytes(chance);
    System.arraycopy(chance, 0, mixed, 3_000_000, chance.length);
    Row row = Row.withSchema(schema).addValues(mixed, new byte[8_000_000]).build();
    List<TimestampedValue<Row>> rows = List.of(TimestampedValue.of(row, new Instant(1)));
    try (BatchWriter large = new BatchWriter(schema, own())) {
      byte[] bytes = large.write(rows);

      assertTrue("bytes: " + bytes.length, bytes.length < 5_000_000);
      assertEquals(rows, read(schema, Uncompressed.stream(bytes)));
    }
  }

  @Test
  public void rowsOfManySchemasReadTheSame() {
    int compressed = 0;
    for (long seed = 0; seed < 100; seed++) {
      RandomRows some = new RandomRows(seed);
      Schema schema = some.schema();
      List<TimestampedValue<Row>> rows = new ArrayList<>(some.rows(schema, 20));
      for (List<TimestampedValue<Row>> batch : List.of(repeated(rows, 100), some.rows(schema, 3))) {
        try (BatchWriter any = new BatchWriter(schema, own())) {
          byte[] bytes = any.write(batch);
          byte[] plain = Uncompressed.stream(bytes);
          compressed += bytes.length < plain.length ? 1 : 0;
          assertEquals("seed " + seed, batch, read(schema, plain));
        }
      }
    }
    assertTrue("compressed: " + compressed, compressed > 50);
  }

  private static <T> List<T> repeated(List<T> items, int times) {
    return Collections.nCopies(times, items).stream().flatMap(List::stream).toList();
  }
}
