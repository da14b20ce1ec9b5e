package io.github.beamensembles.bench;

import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.GroupByKey;
import org.apache.beam.sdk.transforms.PTransform;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.WithKeys;
import org.apache.beam.sdk.transforms.windowing.GlobalWindow;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PDone;
import org.apache.beam.sdk.values.Row;

/**
 * Counts scored rows and adds up their answers, for this program: its worker is in it.
 *
 * <p>The totals of each bundle go to a next step, as in a sink that writes files. While a step
 * without a next one runs, Prism 2.77 keeps a core busy with waiting: so that one comes once, when
 * all bundles have ended.
 */
final class Sink extends PTransform<PCollection<Row>, PDone> {

  private static final LongAdder COUNT = new LongAdder();
  private static final DoubleAdder SUM = new DoubleAdder();

  private final String workload;

  Sink(String workload) {
    this.workload = workload;
  }

  /** What came out of a run: how many rows, and the sum of their answers. */
  record Totals(long count, double sum) {}

  /** Gives the totals of the run that has ended, and begins those of the next. */
  static Totals takeTotals() {
    return new Totals(COUNT.sumThenReset(), SUM.sumThenReset());
  }

  @Override
  public PDone expand(PCollection<Row> scored) {
    scored
        .apply("Add", ParDo.of(new Add(workload)))
        .apply(WithKeys.of(0))
        .apply(GroupByKey.create())
        .apply("Collect", ParDo.of(new Collect()));
    return PDone.in(scored.getPipeline());
  }

  private static final class Add extends DoFn<Row, KV<Long, Double>> {

    private final String name;
    private transient Workload workload;
    private transient long count;
    private transient double sum;

    Add(String name) {
      this.name = name;
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
    public void finish(FinishBundleContext context) {
      context.output(
          KV.of(count, sum), GlobalWindow.INSTANCE.maxTimestamp(), GlobalWindow.INSTANCE);
    }
  }

  private static final class Collect extends DoFn<KV<Integer, Iterable<KV<Long, Double>>>, Void> {
    @ProcessElement
    public void process(@Element KV<Integer, Iterable<KV<Long, Double>>> totals) {
      for (KV<Long, Double> total : totals.getValue()) {
        COUNT.add(total.getKey());
        SUM.add(total.getValue());
      }
    }
  }
}
