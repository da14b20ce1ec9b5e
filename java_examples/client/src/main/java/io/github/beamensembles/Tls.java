package io.github.beamensembles;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * TLS to one service. A connection is tried first, because gRPC's errors do not tell an expired
 * certificate from a wrong certificate authority.
 */
final class Tls {

  private static final int CONNECT_MILLIS = 5_000;

  /** In TLS 1.3 a server refuses a client's certificate after the handshake. */
  private static final int REFUSE_MILLIS = 1_000;

  private static final String[] VERSIONS = {"TLSv1.3", "TLSv1.2"};
  private static final String HTTP2 = "h2";
  private static final String ALERT = "Received fatal alert: ";
  private static final String NO_TLS = "Unsupported or unrecognized SSL message";
  private static final char[] NO_PASSWORD = {};

  private final String address;
  private final String host;
  private final int port;
  private final Security security;
  private final TrustManager[] trusted;
  private final KeyManager[] own;

  /** Reads the files of TLS. */
  Tls(String address, String host, int port, Security security) {
    this.address = address;
    this.host = host;
    this.port = port;
    this.security = security;
    try {
      this.trusted = trusted(security);
      this.own = own(security);
    } catch (GeneralSecurityException | IOException e) {
      throw new EnsembleException(
          "this Java cannot use the files of " + security.tls().orElse("") + ": " + e.getMessage(),
          e);
    }
  }

  private static TrustManager[] trusted(Security security)
      throws GeneralSecurityException, IOException {
    KeyStore store = null; // stands for the authorities of this machine
    if (security.caFile().isPresent()) {
      store = emptyStore();
      for (X509Certificate one : Pem.certificates(security.caFile().get())) {
        store.setCertificateEntry(Integer.toString(store.size()), one);
      }
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyManager[] own(Security security) throws GeneralSecurityException, IOException {
    Optional<Setting> certificate = security.certificate();
    Optional<Setting> key = security.key();
    if (certificate.isPresent() != key.isPresent()) {
      throw new EnsembleException(
          "a client certificate needs its private key and the other way round; give both to"
              + " withTls(ca, certificate, key), or set both "
              + Security.CERTIFICATE_VARIABLE
              + " and "
              + Security.KEY_VARIABLE);
    }
    if (certificate.isEmpty()) {
      return new KeyManager[0];
    }
    List<X509Certificate> chain = Pem.certificates(certificate.get());
    PrivateKey secret = Pem.key(key.get(), certificate.get(), chain.get(0));
    KeyStore store = emptyStore();
    store.setKeyEntry("client", secret, NO_PASSWORD, chain.toArray(new Certificate[0]));
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    return store;
  }

  /** What verifies the service. */
  TrustManager[] trusted() {
    return trusted;
  }

  /** What shows the client's certificate; empty if it has none. */
  KeyManager[] own() {
    return own;
  }

  /**
   * Makes a connection and closes it; throws if client or service refuses the other. A missing
   * service is not a failure here: gRPC reports it.
   */
  void check() {
    try (Socket plain = new Socket()) {
      try {
        plain.connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
      } catch (IOException e) {
        return;
      }
      plain.setSoTimeout(CONNECT_MILLIS);
      try {
        handshake(plain, own, trusted, host);
      } catch (IOException e) {
        throw explain(e);
      }
    } catch (IOException e) {
      throw new EnsembleException("the service at " + address + " ended the connection", e);
    }
  }

  private void handshake(Socket plain, KeyManager[] own, TrustManager[] trusted, String host)
      throws IOException {
    SSLSocket socket = secured(plain, own, trusted, host);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    try {
      // Java accepts a certificate that is its own authority without checking its dates.
      ((X509Certificate) socket.getSession().getPeerCertificates()[0]).checkValidity();
    } catch (CertificateException e) {
      throw new SSLException(e);
    }
    socket.setSoTimeout(REFUSE_MILLIS);
    try {
      if (socket.getInputStream().read() < 0) {
        throw refused("it ended the connection", null);
      }
    } catch (SocketTimeoutException e) {
      return; // It has not refused the certificate.
    } catch (IOException e) {
      throw refused(e.getMessage(), e);
    }
  }

  private static SSLSocket secured(
      Socket plain, KeyManager[] own, TrustManager[] trusted, String host) throws IOException {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(own, trusted, null);
      SSLSocket socket =
          (SSLSocket)
              context
                  .getSocketFactory()
                  .createSocket(plain, host, plain.getPort(), /* autoClose= */ true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setProtocols(VERSIONS);
      parameters.setApplicationProtocols(new String[] {HTTP2});
      socket.setSSLParameters(parameters);
      return socket;
    } catch (GeneralSecurityException e) {
      throw new SSLException(e);
    }
  }

  private EnsembleException refused(String why, Throwable cause) {
    if (security.certificate().isEmpty()) {
      return new EnsembleException(
          "the service at "
              + address
              + " requires a client certificate; use withTls(ca, certificate, key), or set "
              + Security.CERTIFICATE_VARIABLE
              + " and "
              + Security.KEY_VARIABLE,
          cause);
    }
    return new EnsembleException(
        "the service at "
            + address
            + " refuses the client certificate in "
            + security.certificate().get()
            + " ("
            + why
            + "); use one that is valid and signed by a CA of the service's --tls-client-ca",
        cause);
  }

  private EnsembleException explain(IOException failure) {
    String certificate = "the certificate of the service at " + address;
    if (has(failure, CertificateExpiredException.class)
        || has(failure, CertificateNotYetValidException.class)) {
      return new EnsembleException(
          certificate
              + ", or that of its CA, has expired or is not valid yet; renew it, or correct the clock"
              + " of this machine",
          failure);
    }
    if (has(failure, CertPathBuilderException.class)
        || has(failure, CertPathValidatorException.class)) {
      String known =
          security.caFile().map(it -> "a CA in " + it).orElse("a CA that this Java trusts");
      return new EnsembleException(
          certificate
              + " is not signed by "
              + known
              + "; name the CA that signed it with withTls or "
              + Security.CA_VARIABLE,
          failure);
    }
    if (has(failure, CertificateException.class)) {
      return new EnsembleException(
          certificate
              + " is not for the host '"
              + host
              + "'; use an address that the certificate names, or a certificate that names this one",
          failure);
    }
    return explainConnection(failure);
  }

  private EnsembleException explainConnection(IOException failure) {
    String why = String.valueOf(failure.getMessage());
    if (why.contains(NO_TLS)) {
      return new EnsembleException(
          "the server at "
              + address
              + " does not use TLS; start the service with --tls-cert and --tls-key, or call it"
              + " without "
              + security.tls().orElse(""),
          failure);
    }
    if (isAlert(failure) && (why.contains("certificate") || why.contains("_ca"))) {
      return refused(why, failure);
    }
    return new EnsembleException(
        "the service at "
            + address
            + " makes no TLS connection ("
            + why
            + "); check that it is a beam-ensembles service with --tls-cert, and whether it requires"
            + " a client certificate",
        failure);
  }

  private static boolean has(Throwable failure, Class<? extends Exception> cause) {
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (cause.isInstance(one)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isAlert(Throwable failure) {
    return String.valueOf(failure.getMessage()).contains(ALERT);
  }

  /** Whether a server uses TLS, whoever it is. */
  static boolean isSpokenAt(String host, int port) {
    try (Socket plain = new Socket()) {
      plain.connect(new InetSocketAddress(host, port), REFUSE_MILLIS);
      plain.setSoTimeout(REFUSE_MILLIS);
      secured(plain, new KeyManager[0], new TrustManager[] {new Anybody()}, host).startHandshake();
      return true;
    } catch (IOException e) {
      return isAlert(e);
    }
  }

  /** Trusts everybody, on a connection over which nothing is sent. */
  private static final class Anybody extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(
        X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(
        X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
