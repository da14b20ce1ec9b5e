package io.github.beamensembles;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;

/** Unpacks rows of one schema from Arrow IPC streams of one record batch each. */
final class BatchReader implements AutoCloseable {

  private final Schema schema;
  private final List<String> names;
  private final BufferAllocator memory;

  /** Reads with memory of its own. */
  BatchReader(Schema schema) {
    this(schema, ArrowMemory.open());
  }

  /** Reads with memory that it closes. */
  BatchReader(Schema schema, BufferAllocator memory) {
    this.schema = schema;
    this.names =
        Stream.concat(schema.getFieldNames().stream(), Stream.of(ArrowSchema.EVENT_TIME)).toList();
    this.memory = memory;
  }

  /**
   * Gives the rows with their event times. Outside Java's heap nothing is left of them.
   *
   * @throws IllegalArgumentException the bytes hold something else; says what
   */
  List<TimestampedValue<Row>> read(byte[] bytes) {
    try (IncomingBatch batch = new IncomingBatch(bytes, memory)) {
      VectorSchemaRoot root = batch.root();
      return rows(columns(root), times(root), root.getRowCount());
    } catch (IOException | RuntimeException e) {
      throw new IllegalArgumentException(
          "what came back from the ensemble is not an Arrow batch of its rows: " + oneLine(e), e);
    }
  }

  private ColumnReader[] columns(VectorSchemaRoot root) {
    List<String> found = root.getFieldVectors().stream().map(FieldVector::getName).toList();
    check(found.equals(names), "its columns are " + found + ", not " + names);
    return ColumnReader.ofFields(schema, root.getFieldVectors(), "");
  }

  private static BigIntVector times(VectorSchemaRoot root) {
    FieldVector times = root.getVector(ArrowSchema.EVENT_TIME);
    check(times instanceof BigIntVector, "its event times are " + times.getField());
    return (BigIntVector) times;
  }

  private List<TimestampedValue<Row>> rows(ColumnReader[] columns, BigIntVector times, int count) {
    List<TimestampedValue<Row>> rows = new ArrayList<>(count);
    for (int index = 0; index < count; index++) {
      Row row = ColumnReader.row(schema, columns, index);
      rows.add(TimestampedValue.of(row, ColumnReader.instant(times.get(index))));
    }
    return rows;
  }

  private static void check(boolean holds, String sentence) {
    if (!holds) {
      throw new IllegalArgumentException(sentence);
    }
  }

  private static String oneLine(Exception e) {
    String said = e.getMessage();
    return said == null ? e.getClass().getSimpleName() : said.strip().replaceAll("\\s+", " ");
  }

  @Override
  public void close() {
    memory.close();
  }
}
