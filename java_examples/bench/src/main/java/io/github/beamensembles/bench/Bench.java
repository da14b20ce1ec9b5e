package io.github.beamensembles.bench;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.coders.VarLongCoder;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.StreamingOptions;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.Reshuffle;
import org.apache.beam.sdk.values.PCollection;

/**
 * Scores rows of one of the benchmarks' workloads with its ensemble, and prints one JSON object:
 * how many rows, how many seconds, and the mean answer, by which ways to score are compared.
 *
 * <p>The seconds are those of the whole run. Starting it takes some of them, so a rate is told from
 * runs of two lengths.
 */
public final class Bench {

  /** What the program is told. */
  public interface Options extends StreamingOptions {
    @Description("What is scored: light (4 numbers a row), digits (64), text or image")
    @Default.String("light")
    String getWorkload();

    void setWorkload(String name);

    @Description("How many rows to score; the values are taken in turn")
    @Default.Long(100_000)
    long getRows();

    void setRows(long count);

    @Description("In how many parts the rows are made; more than one are spread over the workers")
    @Default.Integer(1)
    int getParts();

    void setParts(int count);

    @Description("How many rows of a part make a bundle; 0: all. For runners of splittable steps")
    @Default.Long(0)
    long getBundleRows();

    void setBundleRows(long count);

    @Description("On Flink: in how many parts the job is cut; -1: as the cluster says")
    @Default.Integer(-1)
    int getParallelism();

    void setParallelism(int parts);

    @Description("On Flink, with --streaming: after how many elements a bundle ends")
    Long getMaxBundleSize();

    void setMaxBundleSize(Long elements);

    @Description("File of the rows' values")
    @Validation.Required
    String getValues();

    void setValues(String file);

    @Description("The ensemble file")
    @Validation.Required
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service")
    @Validation.Required
    String getExpansionService();

    void setExpansionService(String address);
  }

  private static final long LEAST_LOOK_MILLIS = 50;

  /** A look costs milliseconds here and in the runner, so a long run is looked at less often. */
  private static final long LOOKS = 200;

  private Bench() {}

  static Pipeline buildPipeline(Options options) {
    Workload workload = Workload.of(options.getWorkload());
    RunEnsemble ensemble =
        RunEnsemble.fromFile(options.getEnsemble())
            .withPassThrough("id")
            .withExpansionService(options.getExpansionService());
    Pipeline pipeline = Pipeline.create(options);
    source(pipeline, options)
        .apply("Rows", ParDo.of(new MakeRows(options.getWorkload(), options.getValues())))
        .setRowSchema(workload.schema())
        .apply("Score", ensemble)
        .apply("Sink", new Sink(options.getWorkload()));
    return pipeline;
  }

  /** Gives how many rows each part, or each bundle, has. */
  private static PCollection<Long> source(Pipeline pipeline, Options options) {
    List<Long> counts = new ArrayList<>();
    long left = options.getRows();
    for (int parts = options.getParts(); parts > 0; parts--) {
      counts.add(left / parts);
      left -= left / parts;
    }
    PCollection<Long> made = pipeline.apply(Create.of(counts).withCoder(VarLongCoder.of()));
    if (counts.size() > 1) {
      made = made.apply(Reshuffle.viaRandomKey());
    }
    if (options.getBundleRows() > 0) {
      made = made.apply("Bundles", ParDo.of(new Bundles(options.getBundleRows())));
    }
    return made;
  }

  /**
   * Waits for the end of a run. The portable runner's own wait looks every three seconds, which can
   * be a tenth of a run.
   */
  private static void waitUntilFinish(PipelineResult result) throws InterruptedException {
    long start = System.nanoTime();
    while (!result.getState().isTerminal()) {
      long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
      Thread.sleep(Math.max(millis / LOOKS, LEAST_LOOK_MILLIS));
    }
    result.waitUntilFinish();
  }

  public static void main(String[] args) throws InterruptedException {
    Options options = PipelineOptionsFactory.fromArgs(args).withValidation().as(Options.class);
    long start;
    try (LoopbackWorker worker = LoopbackWorker.start(options)) {
      Pipeline pipeline = buildPipeline(options);
      start = System.nanoTime();
      waitUntilFinish(pipeline.run());
    } catch (EnsembleException e) {
      System.err.println(e.getMessage());
      System.exit(1);
      return;
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    if (Sink.count() != options.getRows()) {
      System.err.printf("%d rows went in, %d came out%n", options.getRows(), Sink.count());
      System.exit(1);
    }
    System.out.printf(
        Locale.ROOT,
        "{\"rows\": %d, \"seconds\": %f, \"answer\": %.12f}%n",
        Sink.count(),
        seconds,
        Sink.sum() / Sink.count());
  }
}
