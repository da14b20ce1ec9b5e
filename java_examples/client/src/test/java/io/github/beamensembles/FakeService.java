package io.github.beamensembles;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.expansion.v1.ExpansionServiceGrpc.ExpansionServiceImplBase;
import org.apache.beam.model.pipeline.v1.ExternalTransforms.SchemaTransformPayload;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.util.CoderUtils;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Server;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerBuilder;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthCheckRequest;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthCheckResponse;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthGrpc.HealthImplBase;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.stub.StreamObserver;
import org.junit.rules.ExternalResource;

/** A service that remembers what it is asked and answers every question with one error. */
final class FakeService extends ExternalResource {

  private final String error;
  private final AtomicReference<ExpansionRequest> asked = new AtomicReference<>();
  private Server server;

  FakeService(String error) {
    this.error = error;
  }

  @Override
  protected void before() throws IOException {
    server = ServerBuilder.forPort(0).addService(health()).addService(expansion()).build().start();
  }

  @Override
  protected void after() {
    server.shutdownNow();
  }

  String address() {
    return "localhost:" + server.getPort();
  }

  /** The configuration that came with the last question. */
  Row config() throws IOException {
    SchemaTransformPayload payload =
        SchemaTransformPayload.parseFrom(asked.get().getTransform().getSpec().getPayload());
    RowCoder coder =
        RowCoder.of(SchemaTranslation.schemaFromProto(payload.getConfigurationSchema()));
    return CoderUtils.decodeFromByteArray(coder, payload.getConfigurationRow().toByteArray());
  }

  private static HealthImplBase health() {
    return new HealthImplBase() {
      @Override
      public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
        answer.onNext(HealthCheckResponse.getDefaultInstance());
        answer.onCompleted();
      }
    };
  }

  private ExpansionServiceImplBase expansion() {
    return new ExpansionServiceImplBase() {
      @Override
      public void expand(ExpansionRequest request, StreamObserver<ExpansionResponse> answer) {
        asked.set(request);
        answer.onNext(ExpansionResponse.newBuilder().setError(error).build());
        answer.onCompleted();
      }
    };
  }
}
