package io.github.beamensembles;

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
        .map(address -> new ServiceEndpoint(address, security(ensemble, environment)))
        .orElseGet(() -> new ServiceEndpoint(started(ensemble, environment), Security.NONE));
  }

  private static Security security(RunEnsemble ensemble, Map<String, String> environment) {
    return Security.of(ensemble.tls(), ensemble.tokenFile(), environment);
  }

  static String checked(String address) {
    if (!ADDRESS.matcher(address).matches()) {
      throw new IllegalArgumentException(
          "the address of a service is host:port, such as localhost:8097, not '" + address + "'");
    }
    return address;
  }

  private static Optional<String> fromEnvironment(Map<String, String> environment) {
    return Optional.ofNullable(environment.get(RunEnsemble.ADDRESS_VARIABLE))
        .map(ServiceAddress::checked);
  }

  private static String started(RunEnsemble ensemble, Map<String, String> environment) {
    if (ensemble.tls().isPresent() || ensemble.tokenFile().isPresent()) {
      throw new EnsembleException(
          "withTls and withTokenFile need the address of a service; add withExpansionService or set "
              + RunEnsemble.ADDRESS_VARIABLE);
    }
    return ServiceProcess.addressOf(ServiceCommand.find(environment, ensemble.source().folder()));
  }
}
