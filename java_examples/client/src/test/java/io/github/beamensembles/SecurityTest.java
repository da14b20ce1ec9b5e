package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.github.beamensembles.Authority.Pair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactFilePayload;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactInformation;
import org.apache.beam.model.pipeline.v1.RunnerApi.Components;
import org.apache.beam.model.pipeline.v1.RunnerApi.Environment;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for TLS and tokens: one clear sentence, soon, whatever is wrong. */
@RunWith(JUnit4.class)
public class SecurityTest {

  private static final Duration HOUR = Duration.ofHours(1);
  private static final ExpansionResponse REACHED =
      ExpansionResponse.newBuilder().setError("the call got through").build();

  @ClassRule public static final TemporaryFolder CERTIFICATES = new TemporaryFolder();

  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  @Rule public final Timeout soon = Timeout.seconds(300);

  private final Map<String, String> environment = new HashMap<>();
  private Authority ours;
  private Authority other;
  private Pair good;

  @Before
  public void makeCertificates() throws GeneralSecurityException, IOException {
    Path place = CERTIFICATES.newFolder().toPath();
    ours = new Authority(place, "ours");
    other = new Authority(place, "other");
    good = ours.issue("good", HOUR, "127.0.0.1", "localhost");
  }

  private static GuardedService service(Pair own, Authority clients, String token)
      throws IOException {
    return new GuardedService(
        Optional.ofNullable(own),
        Optional.ofNullable(clients),
        Optional.ofNullable(token),
        REACHED);
  }

  private static Optional<TlsFiles> tls(String ca) {
    return Optional.of(new TlsFiles(Optional.of(ca), Optional.empty(), Optional.empty()));
  }

  private static Optional<TlsFiles> tls(String ca, Object certificate, Object key) {
    return Optional.of(
        new TlsFiles(
            Optional.of(ca), Optional.of(certificate.toString()), Optional.of(key.toString())));
  }

  private ServiceClient client(String address, Optional<TlsFiles> tls, Optional<String> token) {
    Security security = Security.of(tls, token, environment);
    return new ServiceClient(
        new ServiceEndpoint(address, security, Timeouts.DEFAULT),
        response -> {},
        new SecuredArtifacts());
  }

  /** What comes of a call, which must be one line. */
  private String said(String address, Optional<TlsFiles> tls, Optional<String> token) {
    ServiceClient client = client(address, tls, token);
    EnsembleException error =
        assertThrows(
            EnsembleException.class, () -> client.expand(ExpansionRequest.getDefaultInstance()));
    assertEquals(error.getMessage(), 1, error.getMessage().lines().count());
    assertFalse(error.getMessage(), error.getMessage().contains("s3cret"));
    return error.getMessage();
  }

  private String said(GuardedService service, Optional<TlsFiles> tls) {
    return said("127.0.0.1:" + service.port(), tls, Optional.empty());
  }

  private static void assertSays(String said, String... words) {
    for (String word : words) {
      assertTrue(said + " without " + word, said.contains(word));
    }
  }

  private void assertReached(String said) {
    assertEquals(REACHED.getError(), said);
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(folder.getRoot().toPath().resolve(name), text).toString();
  }

  @Test
  public void aServiceWithTls() throws IOException {
    try (GuardedService service = service(good, null, null)) {
      assertReached(said(service, tls(ours.file())));
      assertSays(
          said(service, Optional.empty()),
          "127.0.0.1:" + service.port(),
          "requires TLS",
          "withTls or BEAM_ENSEMBLES_TLS_CA");
      assertSays(
          said(service, tls(other.file())),
          "is not signed by a CA in the file '" + other.file() + "' of withTls (ca)");
      assertSays(said(service, tls("system")), "is not signed by a CA that this Java trusts");
    }
  }

  @Test
  public void aServiceWithoutTls() throws IOException {
    try (GuardedService service = service(null, null, null)) {
      assertReached(said(service, Optional.empty()));
      assertSays(
          said(service, tls(ours.file())), "does not use TLS", "--tls-cert", "without withTls");
    }
  }

  @Test
  public void aCertificateThatHasExpired() throws IOException, GeneralSecurityException {
    Pair expired = ours.issue("expired", Duration.ofMinutes(-1), "127.0.0.1");
    try (GuardedService service = service(expired, null, null)) {
      assertSays(said(service, tls(ours.file())), "has expired");
      assertSays(said(service, tls(expired.certificate().toString())), "has expired");
    }
  }

  @Test
  public void aCertificateForAnotherHost() throws IOException, GeneralSecurityException {
    Pair elsewhere = ours.issue("elsewhere", HOUR, "models.example.com");
    try (GuardedService service = service(elsewhere, null, null)) {
      assertSays(said(service, tls(ours.file())), "is not for the host '127.0.0.1'");
    }
  }

  @Test
  public void aServiceThatRequiresAClientCertificate()
      throws IOException, GeneralSecurityException {
    Pair client = ours.issue("client", HOUR);
    Pair stranger = other.issue("stranger", HOUR);
    try (GuardedService service = service(good, ours, null)) {
      assertReached(said(service, tls(ours.file(), client.certificate(), client.key())));
      assertSays(
          said(service, tls(ours.file())),
          "requires a client certificate",
          "withTls(ca, certificate, key)",
          "BEAM_ENSEMBLES_TLS_CERT and BEAM_ENSEMBLES_TLS_KEY");
      assertSays(
          said(service, tls(ours.file(), stranger.certificate(), stranger.key())),
          "refuses the client certificate in the file '" + stranger.certificate(),
          "of withTls (certificate)",
          "--tls-client-ca");
      assertSays(said(service, Optional.empty()), "requires TLS");
    }
  }

  @Test
  public void filesThatAreWrong() throws IOException, InterruptedException {
    String missing = folder.getRoot() + "/missing";
    String pipe = folder.getRoot() + "/pipe";
    assertEquals(0, new ProcessBuilder("mkfifo", pipe).start().waitFor());
    String text = file("text", "no PEM");
    String broken =
        file("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    String encrypted =
        file(
            "encrypted",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
    String old =
        file("old", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");
    Path certificate = good.certificate();
    Map<Optional<TlsFiles>, List<String>> cases =
        Map.of(
            tls(missing), List.of(missing, "withTls (ca)", "no such file"),
            tls(folder.getRoot().toString()), List.of("withTls (ca)", "cannot be read"),
            tls(pipe), List.of(pipe, "withTls (ca)", "not a regular file"),
            tls(text), List.of(text, "withTls (ca)", "no certificate", "BEGIN CERTIFICATE"),
            tls(broken), List.of(broken, "withTls (ca)", "malformed certificate"),
            tls(ours.file(), text, good.key()), List.of(text, "withTls (certificate)"),
            tls(ours.file(), certificate, missing), List.of(missing, "withTls (key)"),
            tls(ours.file(), certificate, text), List.of(text, "holds no private key in PEM form"),
            tls(ours.file(), certificate, encrypted), List.of("encrypted", "openssl pkey"),
            tls(ours.file(), certificate, old), List.of("PKCS #8", "openssl pkcs8 -topk8"));
    try (GuardedService service = service(good, null, null)) {
      cases.forEach((tls, words) -> assertSays(said(service, tls), words.toArray(String[]::new)));
    }
  }

  @Test
  public void aKeyOfAnotherCertificate() throws IOException, GeneralSecurityException {
    Pair client = ours.issue("client", HOUR);
    try (GuardedService service = service(good, null, null)) {
      assertSays(
          said(service, tls(ours.file(), client.certificate(), good.key())),
          "does not hold the private key of the certificate in '" + client.certificate());
      environment.put(Security.CERTIFICATE_VARIABLE, client.certificate().toString());
      assertSays(said(service, Optional.empty()), "needs its private key", "withTls(ca,");
    }
  }

  @Test
  public void tokens() throws IOException {
    String right = file("right", "s3cret.t0ken==\n");
    try (GuardedService plain = service(null, null, "s3cret.t0ken==");
        GuardedService secured = service(good, null, "s3cret.t0ken==")) {
      String address = "127.0.0.1:" + plain.port();
      assertReached(said(address, Optional.empty(), Optional.of(right)));
      assertReached(said("localhost:" + secured.port(), tls(ours.file()), Optional.of(right)));
      assertSays(
          said(address, Optional.empty(), Optional.empty()),
          "requires a token",
          "withTokenFile or BEAM_ENSEMBLES_TOKEN_FILE");
      for (Map.Entry<String, String> one :
          Map.of(
                  file("wrong", "other"),
                  "refuses the token in the file '",
                  file("empty", "\n"),
                  "is empty",
                  file("lines", "one\ntwo\n"),
                  "holds no token",
                  folder.getRoot() + "/missing",
                  "no such file")
              .entrySet()) {
        String said = said(address, Optional.empty(), Optional.of(one.getKey()));
        assertSays(said, one.getKey(), one.getValue(), "of withTokenFile");
      }
    }
  }

  @Test
  public void aTokenIsReadForEachRequest() throws IOException {
    try (GuardedService service = service(null, null, "new")) {
      String address = "127.0.0.1:" + service.port();
      Optional<String> token = Optional.of(file("token", "old\n"));
      assertSays(said(address, Optional.empty(), token), "refuses the token");
      file("token", "new\r\n");
      assertReached(said(address, Optional.empty(), token));
    }
  }

  @Test
  public void aTokenNeverLeavesTheMachineWithoutTls() throws IOException {
    Optional<String> token = Optional.of(file("token", "s3cret"));
    for (String host : List.of("192.0.2.1", "[2001:db8::1]", "localhost.example.com")) {
      assertSays(
          said(host + ":8097", Optional.empty(), token),
          "is not sent to " + host + ":8097 without TLS",
          "withTls or BEAM_ENSEMBLES_TLS_CA");
    }
    for (String host : List.of("localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1")) {
      assertTrue(host, Security.isLoopback(host));
    }
    for (String host : List.of("0.0.0.0", "::", "10.0.0.1", "127.1", "127.0.0.1.example.com", "")) {
      assertFalse(host, Security.isLoopback(host));
    }
  }

  @Test
  public void theEnvironmentSaysWhatTheCallDoesNot() throws IOException, GeneralSecurityException {
    Pair client = ours.issue("client", HOUR);
    environment.put(Security.CA_VARIABLE, ours.file());
    environment.put(Security.CERTIFICATE_VARIABLE, client.certificate().toString());
    environment.put(Security.KEY_VARIABLE, client.key().toString());
    environment.put(Security.TOKEN_VARIABLE, file("token", "t"));
    try (GuardedService service = service(good, ours, "t")) {
      assertReached(said(service, Optional.empty()));
      assertSays(said(service, tls(other.file())), "is not signed by", "withTls (ca)");
      environment.put(Security.CA_VARIABLE, other.file());
      assertSays(said(service, Optional.empty()), "of BEAM_ENSEMBLES_TLS_CA");
    }
  }

  @Test
  public void filesForWorkersComeOverTheSameConnection() throws IOException {
    ArtifactInformation bundle =
        ArtifactInformation.newBuilder().setRoleUrn("role").setTypeUrn("type").build();
    Environment environment =
        Environment.newBuilder().setUrn("python").addDependencies(bundle).build();
    ExpansionResponse answer =
        ExpansionResponse.newBuilder()
            .setComponents(Components.newBuilder().putEnvironments("python", environment))
            .build();
    Optional<String> token = Optional.of("t");
    try (GuardedService service =
        new GuardedService(Optional.of(good), Optional.empty(), token, answer)) {
      SecuredArtifacts artifacts = new SecuredArtifacts();
      Security security = Security.of(tls(ours.file()), Optional.of(file("token", "t")), Map.of());
      ServiceEndpoint endpoint =
          new ServiceEndpoint("127.0.0.1:" + service.port(), security, Timeouts.DEFAULT);
      ServiceClient client = new ServiceClient(endpoint, response -> {}, artifacts);

      ExpansionResponse forBeam = client.expand(ExpansionRequest.getDefaultInstance());

      assertEquals(
          List.of(),
          forBeam.getComponents().getEnvironmentsOrThrow("python").getDependenciesList());
      ArtifactInformation fetched = artifacts.environment("python").getDependencies(0);
      assertEquals("role", fetched.getRoleUrn());
      String path = ArtifactFilePayload.parseFrom(fetched.getTypePayload()).getPath();
      assertEquals("the bundle", Files.readString(Path.of(path)));
    }
  }

  @Test
  public void securityNeedsAnAddress() {
    RunEnsemble ensemble = RunEnsemble.fromText("ensemble: x", "");
    if (System.getenv(RunEnsemble.ADDRESS_VARIABLE) == null) {
      for (RunEnsemble one : List.of(ensemble.withTls(), ensemble.withTokenFile("token"))) {
        EnsembleException error =
            assertThrows(EnsembleException.class, () -> ServiceAddress.of(one));
        assertSays(error.getMessage(), "need the address of a service", "withExpansionService");
      }
    }
  }
}
