package io.github.beamensembles;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.beam.model.expansion.v1.ExpansionApi.DiscoverSchemaTransformRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.DiscoverSchemaTransformResponse;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.expansion.v1.ExpansionServiceGrpc;
import org.apache.beam.model.pipeline.v1.Endpoints.ApiServiceDescriptor;
import org.apache.beam.sdk.util.construction.ExpansionServiceClient;
import org.apache.beam.sdk.util.construction.ExpansionServiceClientFactory;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Channel;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ManagedChannel;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthCheckRequest;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthGrpc;

/**
 * Asks a beam-ensembles service, and answers in one sentence where Beam's own client gives a gRPC
 * status or waits. A short health check goes before each question.
 */
final class ServiceClient implements ExpansionServiceClient {

  private static final int HEALTH_SECONDS = 5;

  /** Long, because the service may have to fetch models to check them. */
  private static final int ANSWER_SECONDS = 300;

  private final ServiceEndpoint service;
  private final Consumer<ExpansionResponse> listener;
  private final SecuredArtifacts artifacts;

  ServiceClient(
      ServiceEndpoint service, Consumer<ExpansionResponse> listener, SecuredArtifacts artifacts) {
    this.service = service;
    this.listener = listener;
    this.artifacts = artifacts;
  }

  /**
   * Returns clients that also show each expansion to {@code listener}, and what workers need to
   * {@code artifacts} where Beam cannot fetch it.
   */
  static ExpansionServiceClientFactory factory(
      ServiceEndpoint service, Consumer<ExpansionResponse> listener, SecuredArtifacts artifacts) {
    return new ExpansionServiceClientFactory() {
      @Override
      public ExpansionServiceClient getExpansionServiceClient(ApiServiceDescriptor endpoint) {
        return new ServiceClient(service, listener, artifacts);
      }

      @Override
      public void close() {
        // Every call closes its own channel.
      }
    };
  }

  @Override
  public ExpansionResponse expand(ExpansionRequest request) {
    return ask(
        channel -> {
          ExpansionResponse response = stub(channel).expand(request);
          if (!response.getError().isEmpty()) {
            throw EnsembleException.fromService(response.getError());
          }
          listener.accept(response);
          return service.security().isUsed()
              ? artifacts.fetch(channel, request.getComponents(), response)
              : response;
        });
  }

  @Override
  public DiscoverSchemaTransformResponse discover(DiscoverSchemaTransformRequest request) {
    return ask(channel -> stub(channel).discoverSchemaTransform(request));
  }

  @Override
  public void close() {
    // Every call closes its own channel.
  }

  private <T> T ask(Function<Channel, T> question) {
    ManagedChannel open = service.open();
    try {
      Channel channel = service.withToken(open);
      checkHealth(channel);
      return question.apply(channel);
    } catch (StatusRuntimeException e) {
      throw new EnsembleException(service.refusal(e).orElseGet(() -> explain(e)), e);
    } finally {
      open.shutdownNow();
    }
  }

  private static ExpansionServiceGrpc.ExpansionServiceBlockingStub stub(Channel channel) {
    return ExpansionServiceGrpc.newBlockingStub(channel).withDeadlineAfter(ANSWER_SECONDS, SECONDS);
  }

  private static void checkHealth(Channel channel) {
    HealthCheckRequest wholeServer = HealthCheckRequest.getDefaultInstance();
    HealthGrpc.newBlockingStub(channel)
        .withDeadlineAfter(HEALTH_SECONDS, SECONDS)
        .check(wholeServer);
  }

  private String explain(StatusRuntimeException failure) {
    String address = service.address();
    return switch (failure.getStatus().getCode()) {
      case UNAVAILABLE ->
          "no beam-ensembles service answers at "
              + address
              + ": start one with 'beam-ensembles serve', or correct the address";
      case DEADLINE_EXCEEDED ->
          "what listens at " + address + " does not answer: is it a beam-ensembles service?";
      case UNIMPLEMENTED ->
          "what listens at "
              + address
              + " is not a beam-ensembles service, or one of another version: correct the address";
      default -> "the beam-ensembles service at " + address + " failed: " + failure.getStatus();
    };
  }
}
