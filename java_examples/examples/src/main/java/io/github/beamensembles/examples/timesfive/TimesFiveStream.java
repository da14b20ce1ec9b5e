package io.github.beamensembles.examples.timesfive;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.util.DoubleSummaryStatistics;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.StreamingOptions;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.GroupByKey;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.PeriodicImpulse;
import org.apache.beam.sdk.transforms.WithKeys;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.Window;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptors;
import org.joda.time.Duration;
import org.joda.time.Instant;

/**
 * Multiplies numbers by five as they arrive, and prints by how much the model multiplies, every two
 * seconds.
 *
 * <p>A number's event time is when it was due; the numbers are put into windows after the model, by
 * that time. Workers look every second for a newer model.
 */
public final class TimesFiveStream {

  /** What the program is told. */
  public interface Options extends StreamingOptions {
    @Description("How many seconds long numbers arrive")
    @Default.Integer(30)
    int getSeconds();

    void setSeconds(int seconds);

    @Description("The ensemble file")
    @Default.String("examples/times_five/times_five.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema NUMBER = Schema.builder().addFloatField("x").build();
  static final Duration INTERVAL = Duration.millis(250);
  static final Duration WINDOW = Duration.standardSeconds(2);

  private TimesFiveStream() {}

  /** Prints a line for each window: its number, how many numbers are in it, their mean factor. */
  static final class Line extends DoFn<KV<String, Iterable<Double>>, Void> {
    private final Instant start;

    Line(Instant start) {
      this.start = start;
    }

    @ProcessElement
    public void print(@Element KV<String, Iterable<Double>> factors, BoundedWindow window) {
      DoubleSummaryStatistics found = new DoubleSummaryStatistics();
      factors.getValue().forEach(found::accept);
      long since = window.maxTimestamp().getMillis() - start.getMillis();
      System.out.printf(
          "{\"id\": %d, \"numbers\": %d, \"times\": %.4f}%n",
          since / WINDOW.getMillis(), found.getCount(), found.getAverage());
    }
  }

  static Pipeline buildPipeline(Options options) {
    RunEnsemble timesFive =
        RunEnsemble.fromFile(options.getEnsemble())
            .withRefreshInterval(java.time.Duration.ofSeconds(1));
    if (options.getExpansionService() != null) {
      timesFive = timesFive.withExpansionService(options.getExpansionService());
    }
    long length = WINDOW.getMillis();
    Instant start = Instant.ofEpochMilli((System.currentTimeMillis() / length + 1) * length);
    // A number that is due at the end is one too many.
    Instant end = start.plus(Duration.standardSeconds(options.getSeconds())).minus(1);
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Clock", PeriodicImpulse.create().startAt(start).stopAt(end).withInterval(INTERVAL))
        .apply("Number", MapElements.into(TypeDescriptors.rows()).via(due -> number(start, due)))
        .setRowSchema(NUMBER)
        .apply("Multiply", timesFive)
        .apply("Window", Window.into(FixedWindows.of(WINDOW)))
        .apply("Factor", MapElements.into(TypeDescriptors.doubles()).via(TimesFiveStream::factor))
        .apply("Key", WithKeys.of(""))
        .apply("Gather", GroupByKey.create())
        .apply("Print", ParDo.of(new Line(start)));
    return pipeline;
  }

  private static Row number(Instant start, Instant due) {
    return Row.withSchema(NUMBER)
        .addValue((due.getMillis() - start.getMillis()) / 1000f + 1)
        .build();
  }

  private static double factor(Row row) {
    return row.getFloat("y") / row.getFloat("x");
  }

  public static void main(String[] args) {
    Options options = PipelineOptionsFactory.fromArgs(args).withValidation().as(Options.class);
    options.setStreaming(true);
    try (LoopbackWorker worker = LoopbackWorker.start(options)) {
      buildPipeline(options).run().waitUntilFinish();
    } catch (EnsembleException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
