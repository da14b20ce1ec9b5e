package io.github.beamensembles;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Which service an ensemble is sent to. */
final class ServiceAddress {

  private static final Pattern ADDRESS = Pattern.compile(".+:\\d+");

  private ServiceAddress() {}

  /** The address given, else the environment's, else that of a service started for it. */
  static String of(RunEnsemble ensemble) {
    Map<String, String> environment = System.getenv();
    return ensemble
        .expansionService()
        .or(() -> fromEnvironment(environment))
        .orElseGet(() -> started(ensemble, environment));
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
    return ServiceProcess.addressOf(ServiceCommand.find(environment, ensemble.source().folder()));
  }
}
