package io.github.beamensembles;

import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Duration;

/**
 * Unpacks rows from record batches and gives each its event time back; the window is the batch's.
 */
final class UnpackRows extends DoFn<byte[], Row> {

  private final Schema schema;
  private transient BatchReader reader;

  UnpackRows(Schema schema) {
    this.schema = schema;
  }

  @Setup
  public void open() {
    reader = new BatchReader(schema);
  }

  @ProcessElement
  public void process(@Element byte[] batch, OutputReceiver<Row> output) {
    for (TimestampedValue<Row> row : reader.read(batch)) {
      output.outputWithTimestamp(row.getValue(), row.getTimestamp());
    }
  }

  /** Inference may move a batch to the end of its window. */
  @Override
  @SuppressWarnings("deprecation") // nothing else gives a row its own time back
  public Duration getAllowedTimestampSkew() {
    return RowBatch.ANY_SKEW;
  }

  @Teardown
  public void close() {
    if (reader != null) {
      reader.close();
      reader = null;
    }
  }
}
