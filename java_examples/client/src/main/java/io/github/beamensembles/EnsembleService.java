package io.github.beamensembles;

import java.util.List;
import java.util.Map;

/**
 * A beam-ensembles service on this machine, for tests with the real models.
 *
 * <p>{@code RunEnsemble} starts one by itself where no address is given. A test starts one with
 * this class where its pipeline takes an address, or where all classes of a test run are to share
 * one:
 *
 * <pre>{@code
 * private static final EnsembleService SERVICE = EnsembleService.shared("src/main/ensembles");
 * ... RunEnsemble.fromFile(file).withExpansionService(SERVICE.address())
 * }</pre>
 *
 * <p>It needs a Python that has beam-ensembles, found as {@code RunEnsemble} finds it: the variable
 * {@code BEAM_ENSEMBLES_PYTHON}, the command {@code beam-ensembles}, or {@code python3}. It ends
 * with this program.
 */
public final class EnsembleService implements AutoCloseable {

  private final ServiceProcess process;
  private final boolean isShared;

  private EnsembleService(ServiceProcess process, boolean isShared) {
    this.process = process;
    this.isShared = isShared;
  }

  /**
   * Starts a service, and waits until it listens.
   *
   * @param trusted the folders from which it may load models that hold code, such as joblib files
   * @throws EnsembleException there is no Python with beam-ensembles, or the service does not start
   */
  public static EnsembleService start(String... trusted) {
    return new EnsembleService(
        ServiceProcess.start(command(trusted), Timeouts.DEFAULT.start()), false);
  }

  /**
   * Starts a service at the first call in this program; later calls with the same folders return
   * the same one.
   *
   * @param trusted the folders from which it may load models that hold code, such as joblib files
   * @throws EnsembleException there is no Python with beam-ensembles, or the service does not start
   */
  public static EnsembleService shared(String... trusted) {
    return new EnsembleService(
        ServiceProcess.shared(command(trusted), Timeouts.DEFAULT.start()), true);
  }

  private static List<String> command(String... trusted) {
    Map<String, String> environment = System.getenv();
    return ServiceCommand.find(environment, List.of(trusted));
  }

  /** Where it listens: {@code host:port}, for {@link RunEnsemble#withExpansionService}. */
  public String address() {
    return process.address();
  }

  /** Stops the service; a shared one goes on until this program ends. */
  @Override
  public void close() {
    if (!isShared) {
      process.stop();
    }
  }
}
