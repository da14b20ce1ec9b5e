package io.github.beamensembles.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
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
 * Scores rows of one of the benchmarks' workloads with its ensemble, as often as it is asked to.
 *
 * <p>It prints {@code {}} when it is ready. Then each line of its input says how many rows, and it
 * runs a pipeline and prints one JSON object: how many rows, how many seconds, and the mean answer,
 * by which ways to score are compared. It ends with its input, or with 1 when a run fails.
 *
 * <p>The seconds are those of the whole run. Starting it takes some of them, so a rate is told from
 * runs of two lengths.
 */
public final class Bench {

  /** What the program is told. */
  public interface Options extends StreamingOptions {
    @Description("What is scored: light (4 numbers per row), digits (64), text or image")
    @Default.String("light")
    String getWorkload();

    void setWorkload(String name);

    @Description("In parts of how many rows they are made, spread over the workers; 0: in one part")
    @Default.Long(0)
    long getPartRows();

    void setPartRows(long count);

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

  static Pipeline buildPipeline(Options options, long rows) {
    Workload workload = Workload.of(options.getWorkload());
    RunEnsemble ensemble =
        RunEnsemble.fromFile(options.getEnsemble())
            .withPassThrough("id")
            .withExpansionService(options.getExpansionService());
    Pipeline pipeline = Pipeline.create(options);
    source(pipeline, options, rows)
        .apply("Rows", ParDo.of(new MakeRows(options.getWorkload(), options.getValues())))
        .setRowSchema(workload.schema())
        .apply("Score", ensemble)
        .apply("Sink", new Sink(options.getWorkload()));
    return pipeline;
  }

  /** Gives how many rows each part, or each bundle, has. */
  private static PCollection<Long> source(Pipeline pipeline, Options options, long rows) {
    List<Long> counts = new ArrayList<>();
    long left = rows;
    long partRows = options.getPartRows() > 0 ? options.getPartRows() : rows;
    for (long parts = Math.max(rows / partRows, 1); parts > 0; parts--) {
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

  /** Runs a pipeline, with a worker of its own: one that has ended leaves its options unusable. */
  private static String score(String[] args, long rows) throws InterruptedException {
    Options options = PipelineOptionsFactory.fromArgs(args).withValidation().as(Options.class);
    double seconds;
    try (LoopbackWorker worker = LoopbackWorker.start(options)) {
      Pipeline pipeline = buildPipeline(options, rows);
      long start = System.nanoTime();
      waitUntilFinish(pipeline.run());
      seconds = (System.nanoTime() - start) / 1e9;
    }
    Sink.Totals scored = Sink.takeTotals();
    if (scored.count() != rows) {
      throw new IllegalStateException(rows + " rows went in, " + scored.count() + " came out");
    }
    return String.format(
        Locale.ROOT,
        "{\"rows\": %d, \"seconds\": %f, \"answer\": %.12f}",
        rows,
        seconds,
        scored.sum() / rows);
  }

  public static void main(String[] args) {
    PrintStream out = System.out;
    System.setOut(System.err); // other output is not a run
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, US_ASCII));
    PipelineOptionsFactory.fromArgs(args).withValidation().as(Options.class);
    out.println("{}");
    try {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.println(score(args, Long.parseLong(line)));
      }
    } catch (EnsembleException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    } catch (Exception e) {
      e.printStackTrace();
      System.exit(1);
    }
  }
}
