package io.github.beamensembles;

import java.io.IOException;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.beam.model.expansion.v1.ExpansionApi.DiscoverSchemaTransformRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.DiscoverSchemaTransformResponse;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.pipeline.v1.Endpoints.ApiServiceDescriptor;
import org.apache.beam.sdk.util.construction.ExpansionServiceClient;
import org.apache.beam.sdk.util.construction.ExpansionServiceClientFactory;

/**
 * Asks a beam-ensembles service, and answers in one sentence where Beam's own client gives a gRPC
 * status or waits. A short health check goes before each question.
 */
final class ServiceClient implements ExpansionServiceClient {

  private static final String SERVICE = "org.apache.beam.model.expansion.v1.ExpansionService/";
  private static final String CHECK = "grpc.health.v1.Health/Check";

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
          ExpansionResponse response = expand(channel, request);
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
    return ask(
        channel -> {
          byte[] answer =
              channel.ask(
                  SERVICE + "DiscoverSchemaTransform",
                  request.toByteArray(),
                  service.timeouts().expand());
          try {
            return DiscoverSchemaTransformResponse.parseFrom(answer);
          } catch (IOException e) {
            throw unreadable(e);
          }
        });
  }

  @Override
  public void close() {
    // Every call closes its own channel.
  }

  private ExpansionResponse expand(GrpcChannel channel, ExpansionRequest request) {
    byte[] answer =
        channel.ask(SERVICE + "Expand", request.toByteArray(), service.timeouts().expand());
    try {
      return ExpansionResponse.parseFrom(answer);
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private <T> T ask(Function<GrpcChannel, T> question) {
    try (GrpcChannel channel = service.open()) {
      try {
        channel.ask(CHECK, new byte[0], service.timeouts().connect()); // of the whole server
      } catch (GrpcFailure e) {
        throw failed(e, "does not answer within", service.timeouts().connect(), "connect");
      }
      try {
        return question.apply(channel);
      } catch (GrpcFailure e) {
        throw failed(e, "did not check the ensemble within", service.timeouts().expand(), "expand");
      }
    }
  }

  private EnsembleException failed(
      GrpcFailure failure, String what, Duration patience, String timeout) {
    String late =
        "the beam-ensembles service at "
            + service.address()
            + " "
            + what
            + " "
            + ServiceProcess.seconds(patience)
            + "; it is stopped or busy, or something else listens there: look into its log, correct"
            + " the address, or allow more with the timeout '"
            + timeout
            + "' of withTimeouts";
    String said =
        failure.code().equals("DEADLINE_EXCEEDED")
            ? late
            : service.refusal(failure).orElseGet(() -> explain(failure));
    return new EnsembleException(said, failure);
  }

  private EnsembleException unreadable(IOException cause) {
    return new EnsembleException(
        "the service at " + service.address() + " answers in a way that this client cannot read",
        cause);
  }

  private String explain(GrpcFailure failure) {
    String address = service.address();
    if (failure.isFromHttp()) {
      return "an HTTP server, not a beam-ensembles service, listens at "
          + address
          + ": correct the address";
    }
    return switch (failure.code()) {
      case "UNAVAILABLE" ->
          "no beam-ensembles service answers at "
              + address
              + ": start one with 'beam-ensembles serve', or correct the address";
      case "UNIMPLEMENTED" ->
          "the server at "
              + address
              + " is not a beam-ensembles service, or one of another version: correct the address";
      default -> "the beam-ensembles service at " + address + " failed: " + failure.status();
    };
  }
}
