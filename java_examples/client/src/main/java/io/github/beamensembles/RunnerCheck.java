package io.github.beamensembles;

import java.util.Optional;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PortablePipelineOptions;
import org.apache.beam.sdk.util.construction.Environments;

/** Refuses pipelines that no service can help: where they are to run, no Python can. */
final class RunnerCheck {

  private static final String HOW =
      "start a LoopbackWorker with the options of the pipeline, and run on Prism with"
          + " --runner=PortableRunner --jobEndpoint=localhost:8073";

  private RunnerCheck() {}

  /**
   * Checks the options of a pipeline.
   *
   * @throws EnsembleException its runner or its environment cannot run an ensemble
   */
  static void check(PipelineOptions options) {
    if (FakeModels.replace(options)) {
      return; // fakes run where the pipeline's own steps run
    }
    String runner = runner(options).orElse("");
    if (runner.equals("DirectRunner") || runner.equals("TestDirectRunner")) {
      throw new EnsembleException(
          "the "
              + runner
              + " of Beam for Java cannot run an ensemble, because it runs no Python; "
              + HOW
              + "; a test replaces the ensemble with a FakeEnsemble");
    }
    String environment = options.as(PortablePipelineOptions.class).getDefaultEnvironmentType();
    if (Environments.ENVIRONMENT_LOOPBACK.equals(environment)) {
      throw new EnsembleException(
          "--defaultEnvironmentType=LOOPBACK cannot be used with an ensemble, because Beam starts"
              + " that worker after the pipeline is built; leave it out, "
              + HOW);
    }
  }

  private static Optional<String> runner(PipelineOptions options) {
    try {
      return Optional.ofNullable(options.getRunner()).map(Class::getSimpleName);
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // none is set, and there is no default one
    }
  }
}
