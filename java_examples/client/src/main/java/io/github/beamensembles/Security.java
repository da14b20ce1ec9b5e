package io.github.beamensembles;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How a call identifies itself, and how it verifies the service.
 *
 * @param tls the setting that turns TLS on, in the caller's words; empty if none does
 * @param ca the certificate authorities that are trusted
 * @param certificate the client's certificate
 * @param key its private key
 * @param token the file that holds the token
 */
record Security(
    Optional<String> tls,
    Optional<Setting> ca,
    Optional<Setting> certificate,
    Optional<Setting> key,
    Optional<Setting> token) {

  static final String CA_VARIABLE = "BEAM_ENSEMBLES_TLS_CA";
  static final String CERTIFICATE_VARIABLE = "BEAM_ENSEMBLES_TLS_CERT";
  static final String KEY_VARIABLE = "BEAM_ENSEMBLES_TLS_KEY";
  static final String TOKEN_VARIABLE = "BEAM_ENSEMBLES_TOKEN_FILE";

  /** Stands for the certificate authorities of this machine instead of a file. */
  static final String SYSTEM_CA = "system";

  /** Neither TLS nor a token, as for a service that this program started. */
  static final Security NONE =
      new Security(
          Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

  private static final String METHOD = "withTls";
  private static final Pattern TOKEN = Pattern.compile("[!-~]+");
  private static final Pattern NUMBERS = Pattern.compile("\\d+\\.\\d+\\.\\d+\\.\\d+|.*:.*");

  /** Returns the caller's settings, and those of the environment for what the caller omits. */
  static Security of(
      Optional<TlsFiles> files, Optional<String> tokenFile, Map<String, String> environment) {
    Optional<Setting> ca =
        Setting.of(files.flatMap(TlsFiles::ca), METHOD + " (ca)", environment, CA_VARIABLE);
    Optional<Setting> certificate =
        Setting.of(
            files.flatMap(TlsFiles::certificate),
            METHOD + " (certificate)",
            environment,
            CERTIFICATE_VARIABLE);
    Optional<Setting> key =
        Setting.of(files.flatMap(TlsFiles::key), METHOD + " (key)", environment, KEY_VARIABLE);
    Optional<String> tls =
        files.map(it -> METHOD).or(() -> firstSource(Stream.of(ca, certificate, key)));
    return new Security(
        tls,
        ca,
        certificate,
        key,
        Setting.of(tokenFile, "withTokenFile", environment, TOKEN_VARIABLE));
  }

  private static Optional<String> firstSource(Stream<Optional<Setting>> settings) {
    return settings.flatMap(Optional::stream).map(Setting::source).findFirst();
  }

  /** Whether a connection differs from one of Beam. */
  boolean isUsed() {
    return tls.isPresent() || token.isPresent();
  }

  /** The file of certificate authorities; empty for those of this machine. */
  Optional<Setting> caFile() {
    return ca.filter(it -> !it.path().equals(SYSTEM_CA));
  }

  /** Refuses to send the token to a host where others could read it. */
  void checkTokenIsSafe(String address, String host) {
    if (token.isPresent() && tls.isEmpty() && !isLoopback(host)) {
      throw new EnsembleException(
          "the token of "
              + token.get().source()
              + " is not sent to "
              + address
              + " without TLS, because others could read it; add withTls or "
              + CA_VARIABLE
              + ", or use a loopback address");
    }
  }

  /** Reads the token; empty if none is sent. */
  Optional<String> readToken() {
    return token.map(
        file -> {
          String found = file.read().replaceFirst("[\r\n]+$", "");
          if (found.isEmpty()) {
            throw file.wrong("is empty; write the token into it");
          }
          if (!TOKEN.matcher(found).matches()) {
            throw file.wrong(
                "holds no token; a token is one line of visible ASCII characters without spaces");
          }
          return found;
        });
  }

  static boolean isLoopback(String host) {
    if (!NUMBERS.matcher(host).matches()) {
      return host.equalsIgnoreCase("localhost");
    }
    try {
      return InetAddress.getByName(host).isLoopbackAddress(); // numbers: asks no name server
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
