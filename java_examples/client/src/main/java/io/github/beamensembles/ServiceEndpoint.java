package io.github.beamensembles;

import java.util.Optional;

/**
 * A service, and how to connect to it.
 *
 * @param address {@code host:port}
 * @param security how the service and this program verify each other
 * @param timeouts how long it may take to answer
 */
record ServiceEndpoint(String address, Security security, Timeouts timeouts) {

  /**
   * Opens a channel, over which all calls carry the token as its file has it now; with TLS, tries a
   * connection first.
   */
  GrpcChannel open() {
    security.checkTokenIsSafe(address, host());
    boolean proxied = !Security.isLoopback(host()); // no proxy reads the token
    if (security.tls().isEmpty()) {
      return GrpcChannel.plain(address, proxied, security.readToken());
    }
    Tls tls = new Tls(address, host(), port(), security);
    tls.check();
    return GrpcChannel.secured(address, tls.trusted(), tls.own(), proxied, security.readToken());
  }

  /** The error of a call that failed because of TLS or the token; empty for other reasons. */
  Optional<String> refusal(GrpcFailure failure) {
    String service = "the service at " + address;
    return switch (failure.code()) {
      case "UNAUTHENTICATED" ->
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
      case "PERMISSION_DENIED" ->
          Optional.of(service + " refuses this program: " + failure.description());
      case "UNAVAILABLE" ->
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
