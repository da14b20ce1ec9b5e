package io.github.beamensembles;

import java.util.Optional;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Channel;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ClientInterceptors;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Grpc;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ManagedChannel;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ManagedChannelBuilder;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Metadata;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.StatusRuntimeException;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.stub.MetadataUtils;

/**
 * A service, and how to connect to it.
 *
 * @param address {@code host:port}
 * @param security how the service and this program verify each other
 */
record ServiceEndpoint(String address, Security security) {

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** Opens a channel; with TLS, tries a connection first. */
  ManagedChannel open() {
    security.checkTokenIsSafe(address, host());
    ManagedChannelBuilder<?> builder;
    if (security.tls().isPresent()) {
      Tls tls = new Tls(address, host(), port(), security);
      tls.check();
      builder = Grpc.newChannelBuilder(address, tls.credentials());
    } else {
      builder = ManagedChannelBuilder.forTarget(address).usePlaintext();
    }
    if (Security.isLoopback(host())) {
      builder = builder.proxyDetector(target -> null); // no proxy reads the token
    }
    return builder.maxInboundMessageSize(Integer.MAX_VALUE).build();
  }

  /** Adds the token, as its file has it now, to all calls over a channel. */
  Channel withToken(ManagedChannel channel) {
    Optional<String> token = security.readToken();
    if (token.isEmpty()) {
      return channel;
    }
    Metadata header = new Metadata();
    header.put(AUTHORIZATION, "Bearer " + token.get());
    return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(header));
  }

  /** The error of a call that failed because of TLS or the token; empty for other reasons. */
  Optional<String> refusal(StatusRuntimeException failure) {
    String service = "the service at " + address;
    return switch (failure.getStatus().getCode()) {
      case UNAUTHENTICATED ->
          Optional.of(
              security
                  .token()
                  .map(
                      file ->
                          service
                              + " refuses the token in "
                              + file
                              + "; use the token of the service's --token-file")
                  .orElse(
                      service
                          + " requires a token; name the file that holds it with withTokenFile or "
                          + Security.TOKEN_VARIABLE));
      case PERMISSION_DENIED ->
          Optional.of(service + " refuses this program: " + failure.getStatus().getDescription());
      case UNAVAILABLE ->
          security.tls().isEmpty() && Tls.isSpokenAt(host(), port())
              ? Optional.of(
                  service
                      + " requires TLS; name the CA that signed its certificate with withTls or "
                      + Security.CA_VARIABLE)
              : Optional.empty();
      default -> Optional.empty();
    };
  }

  private String host() {
    String host = address.substring(0, address.lastIndexOf(':'));
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  private int port() {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }
}
