package io.github.beamensembles;

import static org.junit.Assume.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.beam.runners.portability.PortableRunner;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.PortablePipelineOptions;
import org.apache.beam.sdk.testing.TestPipeline;
import org.junit.rules.ExternalResource;

/**
 * The service and the Prism that the environment names. Where it names none, the class's tests are
 * skipped.
 */
final class RealRunner extends ExternalResource {

  private static final String PRISM_VARIABLE = "BEAM_ENSEMBLES_PRISM";

  private final List<LoopbackWorker> workers = new ArrayList<>();

  /** Skips the test where {@code variable} is not set. */
  static String assumed(String variable) {
    String value = System.getenv(variable);
    assumeTrue(variable + " is not set: it comes with make test-integration", value != null);
    return value;
  }

  @Override
  protected void before() {
    assumed(RunEnsemble.ADDRESS_VARIABLE);
    assumed(PRISM_VARIABLE);
  }

  @Override
  protected void after() {
    workers.forEach(LoopbackWorker::close);
  }

  /** The options of a pipeline for this runner. */
  static PipelineOptions options() {
    PipelineOptions options = PipelineOptionsFactory.create();
    options.setRunner(PortableRunner.class);
    options.as(PortablePipelineOptions.class).setJobEndpoint(System.getenv(PRISM_VARIABLE));
    return options;
  }

  /** A pipeline with options of its own, for a worker writes into them. */
  TestPipeline pipeline() {
    PipelineOptions options = options();
    workers.add(LoopbackWorker.start(options));
    return TestPipeline.fromOptions(options);
  }
}
