package io.github.beamensembles;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.transforms.windowing.PaneInfo;
import org.apache.beam.sdk.values.Row;
import org.joda.time.Duration;
import org.joda.time.Instant;

/**
 * Packs the rows of each window into record batches. The rest at the end of a bundle goes out then:
 * the ensemble waits for no row of another bundle.
 */
final class PackRows extends DoFn<Row, byte[]> {

  /** Over all windows together, so that a bundle with rows of many windows fits in memory. */
  private static final long MAX_BYTES = 16 * RowBatch.MAX_BYTES;

  private final Schema schema;
  private transient BatchWriter writer;
  private transient RowSize sizes;
  private transient Map<BoundedWindow, RowBatch> batches;
  private transient long bytes;

  PackRows(Schema schema) {
    this.schema = schema;
  }

  @Setup
  public void open() {
    writer = new BatchWriter(schema);
    sizes = RowSize.of(schema);
  }

  @StartBundle
  public void start() {
    batches = new HashMap<>();
    bytes = 0;
  }

  @ProcessElement
  public void process(
      @Element Row row,
      @Timestamp Instant time,
      BoundedWindow window,
      OutputReceiver<byte[]> output) {
    RowBatch batch = batches.computeIfAbsent(window, unused -> new RowBatch());
    long size = sizes.applyAsLong(row);
    if (!batch.hasRoomFor(size)) {
      emit(batch, window, output);
    }
    batch.add(row, time, size);
    bytes += size;
    if (batch.isFull()) {
      emit(batch, window, output);
    } else if (bytes > MAX_BYTES) {
      batches.forEach((of, one) -> emit(one, of, output));
      batches.clear();
    }
  }

  @FinishBundle
  public void finish(FinishBundleContext context) {
    batches.forEach(
        (window, batch) -> {
          if (!batch.isEmpty()) {
            Instant oldest = batch.oldest();
            context.output(writer.write(batch.take()), oldest, window);
          }
        });
    batches = null;
  }

  private void emit(RowBatch batch, BoundedWindow window, OutputReceiver<byte[]> output) {
    if (batch.isEmpty()) {
      return;
    }
    Instant oldest = batch.oldest();
    bytes -= batch.bytes();
    byte[] packed = writer.write(batch.take());
    output.outputWindowedValue(packed, oldest, List.of(window), PaneInfo.NO_FIRING);
  }

  /** A batch is as old as its oldest row, which may be older than the row that fills it. */
  @Override
  @SuppressWarnings("deprecation") // nothing else lets a batch be older than its last row
  public Duration getAllowedTimestampSkew() {
    return RowBatch.ANY_SKEW;
  }

  @Teardown
  public void close() {
    if (writer != null) {
      writer.close();
      writer = null;
    }
  }
}
