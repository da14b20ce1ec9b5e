package io.github.beamensembles;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.VectorUnloader;
import org.apache.arrow.vector.compression.CompressionCodec;
import org.apache.arrow.vector.compression.NoCompressionCodec;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.IpcOption;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;

/**
 * Packs rows of one schema into Arrow IPC streams of one record batch each, compressed where that
 * pays.
 */
final class BatchWriter implements AutoCloseable {

  /** About what the schema and the ends of buffers add, a column, to the bytes of a batch. */
  private static final int STREAM_BYTES = 256;

  private static final CompressionCodec LZ4 = new Lz4Codec();

  private final BufferAllocator memory;
  private final VectorSchemaRoot root;
  private final ColumnWriter[] columns;
  private final BigIntVector times;
  private final Compression compression = new Compression();

  /** Writes with memory of its own. */
  BatchWriter(Schema schema) {
    this(schema, ArrowMemory.open());
  }

  /** Writes with memory that it closes. */
  BatchWriter(Schema schema, BufferAllocator memory) {
    this.memory = memory;
    this.root = VectorSchemaRoot.create(ArrowSchema.of(schema), memory);
    this.columns = ColumnWriter.ofFields(schema, root.getFieldVectors(), "");
    this.times = (BigIntVector) root.getVector(schema.getFieldCount());
  }

  /**
   * Packs rows with their event times. Outside Java's heap nothing is left of them.
   *
   * @throws IllegalArgumentException a row has null where its schema has none
   */
  byte[] write(List<TimestampedValue<Row>> rows) {
    try {
      fill(rows);
      root.setRowCount(rows.size());
      return stream();
    } finally {
      root.clear();
    }
  }

  private void fill(List<TimestampedValue<Row>> rows) {
    for (int index = 0; index < rows.size(); index++) {
      TimestampedValue<Row> row = rows.get(index);
      times.setSafe(index, 1000 * row.getTimestamp().getMillis());
    }
    for (int field = 0; field < columns.length; field++) {
      ColumnWriter column = columns[field];
      for (int index = 0; index < rows.size(); index++) {
        column.write(index, rows.get(index).getValue().getValue(field));
      }
    }
  }

  private byte[] stream() {
    int size = size();
    if (!compression.isDue(size)) {
      return stream(NoCompressionCodec.INSTANCE, size);
    }
    byte[] bytes = stream(LZ4, size / 2);
    compression.became(bytes.length, size);
    return bytes;
  }

  /** Makes a stream of about as many bytes. */
  private byte[] stream(CompressionCodec codec, int about) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(about);
    WriteChannel channel = new WriteChannel(Channels.newChannel(bytes));
    try (ArrowRecordBatch batch = new VectorUnloader(root, true, codec, true).getRecordBatch()) {
      MessageSerializer.serialize(channel, root.getSchema());
      MessageSerializer.serialize(channel, batch);
      ArrowStreamWriter.writeEndOfStream(channel, IpcOption.DEFAULT);
    } catch (IOException e) {
      throw new UncheckedIOException("bytes are always written", e);
    }
    return bytes.toByteArray();
  }

  /** About how many bytes the stream has that is not compressed. */
  private int size() {
    int size = STREAM_BYTES;
    for (FieldVector column : root.getFieldVectors()) {
      size += STREAM_BYTES + column.getBufferSize();
    }
    return size;
  }

  @Override
  public void close() {
    root.close();
    memory.close();
  }
}
