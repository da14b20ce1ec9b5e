package io.github.beamensembles;

import java.util.ArrayList;
import java.util.List;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Duration;
import org.joda.time.Instant;

/** Rows that wait to be packed: as many as make it worth while, and not more. */
final class RowBatch {

  static final int MAX_ROWS = 16384;

  /** A larger row is a batch of its own. */
  static final long MAX_BYTES = 4L << 20;

  /**
   * How much older than its element an output may be: any event time. A longer one overflows, and
   * Beam 2.77 makes and catches an exception of that for every row.
   */
  static final Duration ANY_SKEW =
      new Duration(BoundedWindow.TIMESTAMP_MIN_VALUE, BoundedWindow.TIMESTAMP_MAX_VALUE);

  private List<TimestampedValue<Row>> rows = new ArrayList<>();
  private Instant oldest = BoundedWindow.TIMESTAMP_MAX_VALUE;
  private long bytes;

  boolean isEmpty() {
    return rows.isEmpty();
  }

  boolean hasRoomFor(long size) {
    return rows.isEmpty() || bytes + size <= MAX_BYTES;
  }

  boolean isFull() {
    return rows.size() >= MAX_ROWS || bytes >= MAX_BYTES;
  }

  long bytes() {
    return bytes;
  }

  /** The event time of the oldest row. */
  Instant oldest() {
    return oldest;
  }

  void add(Row row, Instant time, long size) {
    rows.add(TimestampedValue.of(row, time));
    bytes += size;
    if (time.isBefore(oldest)) {
      oldest = time;
    }
  }

  /** Gives the rows and is empty. */
  List<TimestampedValue<Row>> take() {
    List<TimestampedValue<Row>> taken = rows;
    rows = new ArrayList<>();
    bytes = 0;
    oldest = BoundedWindow.TIMESTAMP_MAX_VALUE;
    return taken;
  }
}
