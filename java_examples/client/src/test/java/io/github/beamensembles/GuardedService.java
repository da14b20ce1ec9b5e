package io.github.beamensembles;

import java.io.IOException;
import java.util.Optional;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.expansion.v1.ExpansionServiceGrpc.ExpansionServiceImplBase;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.ResolveArtifactsRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.ResolveArtifactsResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactRetrievalServiceGrpc.ArtifactRetrievalServiceImplBase;
import org.apache.beam.vendor.grpc.v1p69p0.com.google.protobuf.ByteString;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Grpc;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.InsecureServerCredentials;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Metadata;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Server;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerCall;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerCallHandler;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerCredentials;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerInterceptor;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Status;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.TlsServerCredentials;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.TlsServerCredentials.ClientAuth;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthCheckRequest;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthCheckResponse;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.health.v1.HealthGrpc.HealthImplBase;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.stub.StreamObserver;

/** A service with TLS or a token, which gives one answer and one file. */
final class GuardedService implements AutoCloseable {

  private final Server server;

  /** Starts it; without a certificate it has no TLS, without a token it takes everybody. */
  GuardedService(
      Optional<Authority.Pair> own,
      Optional<Authority> clients,
      Optional<String> token,
      ExpansionResponse answer)
      throws IOException {
    server =
        Grpc.newServerBuilderForPort(0, credentials(own, clients))
            .addService(health())
            .addService(expansion(answer))
            .addService(artifacts())
            .intercept(new Guard(token.map(it -> "Bearer " + it)))
            .build()
            .start();
  }

  private static ServerCredentials credentials(
      Optional<Authority.Pair> own, Optional<Authority> clients) throws IOException {
    if (own.isEmpty()) {
      return InsecureServerCredentials.create();
    }
    TlsServerCredentials.Builder builder =
        TlsServerCredentials.newBuilder()
            .keyManager(own.get().certificate().toFile(), own.get().key().toFile());
    if (clients.isPresent()) {
      builder =
          builder
              .trustManager(new java.io.File(clients.get().file()))
              .clientAuth(ClientAuth.REQUIRE);
    }
    return builder.build();
  }

  int port() {
    return server.getPort();
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  private record Guard(Optional<String> expected) implements ServerInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION =
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      boolean isHealth = call.getMethodDescriptor().getFullMethodName().startsWith("grpc.health");
      if (isHealth || expected.isEmpty() || expected.get().equals(headers.get(AUTHORIZATION))) {
        return next.startCall(call, headers);
      }
      call.close(Status.UNAUTHENTICATED.withDescription("wrong token"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
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

  private static ExpansionServiceImplBase expansion(ExpansionResponse response) {
    return new ExpansionServiceImplBase() {
      @Override
      public void expand(ExpansionRequest request, StreamObserver<ExpansionResponse> answer) {
        answer.onNext(response);
        answer.onCompleted();
      }
    };
  }

  private static ArtifactRetrievalServiceImplBase artifacts() {
    return new ArtifactRetrievalServiceImplBase() {
      @Override
      public void resolveArtifacts(
          ResolveArtifactsRequest request, StreamObserver<ResolveArtifactsResponse> answer) {
        answer.onNext(
            ResolveArtifactsResponse.newBuilder()
                .addAllReplacements(request.getArtifactsList())
                .build());
        answer.onCompleted();
      }

      @Override
      public void getArtifact(
          GetArtifactRequest request, StreamObserver<GetArtifactResponse> answer) {
        for (String part : new String[] {"the ", "bundle"}) {
          answer.onNext(
              GetArtifactResponse.newBuilder().setData(ByteString.copyFromUtf8(part)).build());
        }
        answer.onCompleted();
      }
    };
  }
}
