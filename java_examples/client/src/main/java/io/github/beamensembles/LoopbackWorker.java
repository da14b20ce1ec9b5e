package io.github.beamensembles;

import java.io.IOException;
import java.util.List;
import org.apache.beam.sdk.fn.server.FnService;
import org.apache.beam.sdk.fn.server.GrpcFnServer;
import org.apache.beam.sdk.fn.server.ServerFactory;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PortablePipelineOptions;
import org.apache.beam.sdk.util.construction.Environments;

/**
 * Runs a pipeline's Java steps in this program, for runners on this machine such as Prism.
 *
 * <p>Beam's own {@code --defaultEnvironmentType=LOOPBACK} does the same, but too late for a
 * pipeline with a cross-language transform: those need the worker's address while the pipeline is
 * built. So start one first:
 *
 * <pre>{@code
 * try (LoopbackWorker worker = LoopbackWorker.start(options)) {
 *   buildPipeline(options).run().waitUntilFinish();
 * }
 * }</pre>
 *
 * <p>One worker serves all pipelines with these options, also one after the other. What they set in
 * the options must have a form in JSON, as for a worker elsewhere.
 *
 * <p>Needs {@code beam-sdks-java-harness} on the class path, and {@code com.github.jbellis:jamm}.
 */
public final class LoopbackWorker implements AutoCloseable {

  private final GrpcFnServer<FnService> server;

  private LoopbackWorker(GrpcFnServer<FnService> server) {
    this.server = server;
  }

  /** Starts a worker and makes it the environment of the pipelines that use {@code options}. */
  public static LoopbackWorker start(PipelineOptions options) {
    PortablePipelineOptions portable = options.as(PortablePipelineOptions.class);
    portable.setDefaultEnvironmentType(Environments.ENVIRONMENT_EXTERNAL);
    WorkerChannels.quiet();
    GrpcFnServer<FnService> server;
    try {
      server =
          GrpcFnServer.allocatePortAndCreateFor(
              WorkerPool.of(options), ServerFactory.createDefault());
    } catch (IOException e) {
      throw new IllegalStateException("no worker can be started in this program", e);
    }
    portable.setDefaultEnvironmentConfig(server.getApiServiceDescriptor().getUrl());
    // The worker has this program's class path already.
    portable.setFilesToStage(List.of());
    return new LoopbackWorker(server);
  }

  @Override
  public void close() {
    try {
      server.close();
    } catch (Exception e) {
      throw new IllegalStateException("the worker in this program cannot be stopped", e);
    }
  }
}
