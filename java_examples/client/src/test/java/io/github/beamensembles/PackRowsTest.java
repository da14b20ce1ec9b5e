package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.transforms.windowing.GlobalWindow;
import org.apache.beam.sdk.transforms.windowing.IntervalWindow;
import org.apache.beam.sdk.transforms.windowing.PaneInfo;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.apache.beam.sdk.values.TupleTag;
import org.joda.time.Instant;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link PackRows}: which rows go into which batch, and when. */
@RunWith(JUnit4.class)
public class PackRowsTest {

  private static final Schema SCHEMA =
      Schema.builder().addInt64Field("id").addStringField("text").build();
  private static final int MEGABYTE = 1 << 20;

  private final PackRows pack = new PackRows(SCHEMA);
  private final List<Packed> packed = new ArrayList<>();

  /** A batch that was given out. */
  private record Packed(List<TimestampedValue<Row>> rows, Instant time, BoundedWindow window) {
    List<Long> ids() {
      return rows.stream().map(row -> row.getValue().getInt64("id")).toList();
    }
  }

  @Before
  public void open() {
    pack.open();
    pack.start();
  }

  @After
  public void close() {
    pack.close();
  }

  private void process(long id, String text, long millis, BoundedWindow window) {
    Row row = Row.withSchema(SCHEMA).addValues(id, text).build();
    pack.process(row, new Instant(millis), window, new Receiver(new Instant(millis), window));
  }

  private void process(long id, int size) {
    process(id, "x".repeat(size), id, GlobalWindow.INSTANCE);
  }

  private void finish() {
    pack.finish(new Finish(pack));
  }

  private void keep(byte[] bytes, Instant time, BoundedWindow window) {
    try (BatchReader reader = new BatchReader(SCHEMA)) {
      packed.add(new Packed(reader.read(Uncompressed.stream(bytes)), time, window));
    }
  }

  private List<List<Long>> ids() {
    return packed.stream().map(Packed::ids).toList();
  }

  private List<Integer> counts() {
    return packed.stream().map(it -> it.rows().size()).toList();
  }

  @Test
  public void anEmptyBundleGivesNothing() {
    finish();
    pack.start();
    finish();

    assertEquals(List.of(), packed);
  }

  @Test
  public void aBatchHasSoManyRowsAtMost() {
    for (int id = 0; id < 2 * RowBatch.MAX_ROWS + 5; id++) {
      process(id, 1);
    }
    assertEquals(List.of(RowBatch.MAX_ROWS, RowBatch.MAX_ROWS), counts());
    finish();
    assertEquals(List.of(RowBatch.MAX_ROWS, RowBatch.MAX_ROWS, 5), counts());
  }

  @Test
  public void aBatchHasSoManyBytesAtMost() {
    for (int id = 0; id < 9; id++) {
      process(id, MEGABYTE);
    }
    finish();

    assertEquals(List.of(3, 3, 3), counts());
  }

  @Test
  public void aLargeRowIsABatchOfItsOwn() {
    process(1, 10);
    process(2, 6 * MEGABYTE);
    process(3, 10);
    finish();

    assertEquals(List.of(List.of(1L), List.of(2L), List.of(3L)), ids());
  }

  @Test
  public void eachWindowHasItsBatches() {
    IntervalWindow first = new IntervalWindow(new Instant(0), new Instant(10));
    IntervalWindow second = new IntervalWindow(new Instant(10), new Instant(20));
    process(1, "a", 7, first);
    process(2, "b", 15, second);
    process(3, "c", 3, first);
    finish();

    Packed one = packed.get(packed.get(0).window().equals(first) ? 0 : 1);
    Packed other = packed.get(packed.get(0).window().equals(first) ? 1 : 0);
    assertEquals(2, packed.size());
    assertEquals(List.of(1L, 3L), one.ids());
    assertEquals(new Instant(3), one.time());
    assertEquals(List.of(new Instant(7), new Instant(3)), times(one));
    assertEquals(List.of(2L), other.ids());
    assertEquals(second, other.window());
  }

  private static List<Instant> times(Packed batch) {
    return batch.rows().stream().map(TimestampedValue::getTimestamp).toList();
  }

  @Test
  public void rowsOfManyWindowsDoNotPileUp() {
    for (int id = 0; id < 40; id++) {
      IntervalWindow window = new IntervalWindow(new Instant(id), new Instant(id + 1));
      process(id, "x".repeat(3 * MEGABYTE), id, window);
    }
    assertTrue("batches before the bundle's end: " + packed.size(), packed.size() >= 20);
    finish();

    assertEquals(40, packed.size());
    for (Packed batch : packed) {
      assertEquals(new Instant(batch.ids().get(0)), batch.time());
      assertEquals(batch.time(), batch.window().maxTimestamp());
    }
  }

  @Test
  public void theNextBundleStartsWithNothing() {
    process(1, 1);
    pack.start(); // the bundle failed
    process(2, 1);
    finish();

    assertEquals(List.of(List.of(2L)), ids());
  }

  private final class Receiver implements DoFn.OutputReceiver<byte[]> {
    private final Instant time;
    private final BoundedWindow window;

    private Receiver(Instant time, BoundedWindow window) {
      this.time = time;
      this.window = window;
    }

    @Override
    public void output(byte[] batch) {
      outputWithTimestamp(batch, time);
    }

    @Override
    public void outputWithTimestamp(byte[] batch, Instant timestamp) {
      outputWindowedValue(batch, timestamp, List.of(window), PaneInfo.NO_FIRING);
    }

    @Override
    public void outputWindowedValue(
        byte[] batch,
        Instant timestamp,
        Collection<? extends BoundedWindow> windows,
        PaneInfo pane) {
      windows.forEach(one -> keep(batch, timestamp, one));
    }
  }

  private final class Finish extends DoFn<Row, byte[]>.FinishBundleContext {
    private Finish(DoFn<Row, byte[]> fn) {
      fn.super();
    }

    @Override
    public PipelineOptions getPipelineOptions() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void output(byte[] batch, Instant timestamp, BoundedWindow window) {
      keep(batch, timestamp, window);
    }

    @Override
    public <T> void output(TupleTag<T> tag, T batch, Instant timestamp, BoundedWindow window) {
      throw new UnsupportedOperationException();
    }
  }
}
