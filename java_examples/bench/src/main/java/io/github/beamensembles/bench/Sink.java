package io.github.beamensembles.bench;

import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.values.Row;

/** Counts scored rows and adds up their answers, for this program: its worker is in it. */
final class Sink extends DoFn<Row, Void> {

  private static final LongAdder COUNT = new LongAdder();
  private static final DoubleAdder SUM = new DoubleAdder();

  private final String name;
  private transient Workload workload;
  private transient long count;
  private transient double sum;

  Sink(String name) {
    this.name = name;
  }

  static long count() {
    return COUNT.sum();
  }

  static double sum() {
    return SUM.sum();
  }

  @Setup
  public void open() {
    workload = Workload.of(name);
  }

  @StartBundle
  public void start() {
    count = 0;
    sum = 0;
  }

  @ProcessElement
  public void process(@Element Row scored) {
    count++;
    sum += workload.answer(scored);
  }

  @FinishBundle
  public void finish() {
    COUNT.add(count);
    SUM.add(sum);
  }
}
