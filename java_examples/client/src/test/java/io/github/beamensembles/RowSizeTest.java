package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link RowSize}. */
@RunWith(JUnit4.class)
public class RowSizeTest {

  private static final int ROWS = 300;

  /** Arrow pads each buffer and marks what is null, which is not counted; nor are event times. */
  @Test
  public void theSizeIsAboutThatOfTheBatch() {
    for (long seed = 0; seed < 100; seed++) {
      RandomRows random = new RandomRows(seed);
      Schema schema = random.schema();
      List<TimestampedValue<Row>> rows = random.rows(schema, ROWS);
      try (BatchWriter writer = new BatchWriter(schema)) {
        long without = writer.write(List.of()).length;
        double packed = Uncompressed.stream(writer.write(rows)).length - without - 8.0 * ROWS;
        RowSize size = RowSize.of(schema);
        double counted = rows.stream().mapToLong(row -> size.applyAsLong(row.getValue())).sum();
        assertTrue("seed " + seed, counted < 1.7 * packed + 1000 && packed < 1.7 * counted + 3000);
      }
    }
  }

  @Test
  public void halfASurrogatePairHasASize() {
    Schema schema = Schema.builder().addStringField("text").build();

    assertEquals(
        6, RowSize.of(schema).applyAsLong(Row.withSchema(schema).addValue("\ud83d").build()));
  }
}
