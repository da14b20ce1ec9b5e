package io.github.beamensembles;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Which service an ensemble is sent to. */
final class ServiceAddress {

  private static final Pattern ADDRESS = Pattern.compile(".+:\\d+");

  private ServiceAddress() {}

  /**
   * The service at the address given, else at the environment's, else one that is started for the
   * ensemble and that needs neither TLS nor a token.
   */
  static ServiceEndpoint of(RunEnsemble ensemble) {
    Map<String, String> environment = System.getenv();
    return ensemble
        .expansionService()
        .or(() -> fromEnvironment(environment))
        .map(
            address ->
                new ServiceEndpoint(address, security(ensemble, environment), ensemble.timeouts()))
        .orElseGet(
            () ->
                new ServiceEndpoint(
                    started(ensemble, environment), Security.NONE, ensemble.timeouts()));
  }

  private static Security security(RunEnsemble ensemble, Map<String, String> environment) {
    return Security.of(ensemble.tls(), ensemble.tokenFile(), environment);
  }

  /**
   * Returns an address.
   *
   * @param source what names it, in the caller's words
   */
  static String checked(String address, String source) {
    Given.notNull(address, "address");
    int scheme = address.indexOf("://");
    if (scheme >= 0) {
      String without = address.substring(scheme + 3).replaceFirst("/+$", "");
      throw new IllegalArgumentException(
          source
              + " must be host:port without a scheme, not '"
              + address
              + "'"
              + (ADDRESS.matcher(without).matches() ? "; write '" + without + "'" : "")
              + (address.startsWith("https") ? ", and add withTls" : ""));
    }
    if (!ADDRESS.matcher(address).matches() || !isPort(address)) {
      throw new IllegalArgumentException(
          source + " must be host:port, such as localhost:8097, not '" + address + "'");
    }
    return address;
  }

  private static boolean isPort(String address) {
    String digits = address.substring(address.lastIndexOf(':') + 1);
    return digits.length() <= 5 && Integer.parseInt(digits) <= 65_535;
  }

  /** The address of the environment; an empty variable counts as none. */
  static Optional<String> fromEnvironment(Map<String, String> environment) {
    return Optional.ofNullable(environment.get(RunEnsemble.ADDRESS_VARIABLE))
        .filter(address -> !address.isBlank())
        .map(address -> checked(address, RunEnsemble.ADDRESS_VARIABLE));
  }

  private static String started(RunEnsemble ensemble, Map<String, String> environment) {
    if (ensemble.tls().isPresent() || ensemble.tokenFile().isPresent()) {
      throw new EnsembleException(
          "withTls and withTokenFile need the address of a service; add withExpansionService or set "
              + RunEnsemble.ADDRESS_VARIABLE);
    }
    String folder = ensemble.source().folder();
    List<String> trusted = folder.isEmpty() ? List.of() : List.of(folder);
    return ServiceProcess.addressOf(
        ServiceCommand.find(environment, trusted), ensemble.timeouts().start());
  }
}
