import io.github.beamensembles.Encoding;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.beam.model.jobmanagement.v1.JobApi;
import org.apache.beam.model.jobmanagement.v1.JobServiceGrpc;
import org.apache.beam.model.pipeline.v1.RunnerApi;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.PipelineRunner;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.util.construction.PipelineOptionsTranslation;
import org.apache.beam.sdk.util.construction.PipelineTranslation;
import org.apache.beam.sdk.util.construction.SdkComponents;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptors;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ManagedChannel;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ManagedChannelBuilder;

/**
 * Scores flowers on Prism in every encoding, with one worker and one object of options. Submits the
 * jobs itself: the runner for that is not published with each version of Beam.
 */
public final class Score {

  private static String prism;

  /** Submits pipelines to Prism, and waits for them. */
  public static final class Runner extends PipelineRunner<PipelineResult> {
    private final PipelineOptions options;

    private Runner(PipelineOptions options) {
      this.options = options;
    }

    public static Runner fromOptions(PipelineOptions options) {
      return new Runner(options);
    }

    @Override
    public PipelineResult run(Pipeline pipeline) {
      RunnerApi.Pipeline proto =
          PipelineTranslation.toProto(pipeline, SdkComponents.create(options));
      ManagedChannel channel = ManagedChannelBuilder.forTarget(prism).usePlaintext().build();
      try {
        JobServiceGrpc.JobServiceBlockingStub jobs = JobServiceGrpc.newBlockingStub(channel);
        JobApi.PrepareJobResponse prepared =
            jobs.prepare(
                JobApi.PrepareJobRequest.newBuilder()
                    .setJobName("score")
                    .setPipeline(proto)
                    .setPipelineOptions(PipelineOptionsTranslation.toProto(options))
                    .build());
        JobApi.RunJobResponse run =
            jobs.run(
                JobApi.RunJobRequest.newBuilder()
                    .setPreparationId(prepared.getPreparationId())
                    .build());
        await(jobs, run.getJobId());
        return null;
      } finally {
        channel.shutdownNow();
      }
    }

    private static void await(JobServiceGrpc.JobServiceBlockingStub jobs, String id) {
      while (true) {
        JobApi.JobState.Enum state =
            jobs.getState(JobApi.GetJobStateRequest.newBuilder().setJobId(id).build()).getState();
        switch (state) {
          case DONE -> {
            return;
          }
          case FAILED, CANCELLED -> throw new IllegalStateException("the job is " + state);
          default -> pause();
        }
      }
    }

    private static void pause() {
      try {
        Thread.sleep(100);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static void score(PipelineOptions options, Encoding encoding, Path folder) {
    Schema flower =
        Schema.builder()
            .addInt64Field("id")
            .addArrayField("petals", FieldType.DOUBLE)
            .addNullableField("note", FieldType.STRING)
            .addDecimalField("price")
            .build();
    BigDecimal price = new BigDecimal("9.50");
    List<Double> first = List.of(5.1, 3.5, 1.4, 0.2);
    List<Double> second = List.of(6.3, 3.3, 6.0, 2.5);
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply(
            Create.of(
                    Row.withSchema(flower).addValues(1L, first, null, price).build(),
                    Row.withSchema(flower).addValues(2L, second, "tall", price).build())
                .withRowSchema(flower))
        .apply(
            RunEnsemble.fromFile(folder.resolve("flowers.yaml").toString()).withEncoding(encoding))
        .apply(
            MapElements.into(TypeDescriptors.strings())
                .via(
                    row ->
                        row.getInt64("id")
                            + " "
                            + row.getString("species")
                            + " "
                            + row.getString("note")
                            + " "
                            + row.getDecimal("price")))
        .apply(TextIO.write().to(folder.resolve(encoding + ".txt").toString()).withoutSharding());
    pipeline.run();
  }

  public static void main(String[] args) throws Exception {
    prism = args[0];
    Path folder = Path.of(args[1]);
    PipelineOptions options = PipelineOptionsFactory.create();
    options.setRunner(Runner.class);
    try (LoopbackWorker worker = LoopbackWorker.start(options)) {
      for (Encoding encoding : Encoding.values()) {
        Files.deleteIfExists(folder.resolve(encoding + ".txt"));
        score(options, encoding, folder);
      }
    }
  }
}
