package io.github.beamensembles;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds the command that starts a service on this machine. */
final class ServiceCommand {

  static final String PYTHON_VARIABLE = "BEAM_ENSEMBLES_PYTHON";

  private static final String MODULE = "beam_ensembles_service";
  private static final String CAN_IMPORT =
      "import importlib.util, sys; sys.exit(importlib.util.find_spec('" + MODULE + "') is None)";

  private ServiceCommand() {}

  /**
   * Gives the command for a service on a free port that ends with this program.
   *
   * @param environment the variables to look at, {@link System#getenv()} but in tests
   * @param trusted the folders that the service may load pickled models from
   */
  static List<String> find(Map<String, String> environment, List<String> trusted) {
    List<String> command = new ArrayList<>(program(environment));
    command.addAll(flags(System.getProperty("os.name")));
    for (String folder : trusted) {
      command.addAll(List.of("--trust", folder));
    }
    return List.copyOf(command);
  }

  /**
   * Returns the flags of a service that ends with this program. It serves this user alone, so
   * ensembles may name models without code in any folder, as RunEnsemble in Python lets them. Only
   * Linux tells a service which user of the machine calls; elsewhere it starts no workers unless it
   * is told to let in every user of the machine.
   *
   * @param system the operating system as {@code os.name} says it
   */
  static List<String> flags(String system) {
    List<String> flags =
        List.of(
            "--port", "0", "--serve-loopback-worker", "--stop-with-stdin", "--allow-folder", "/");
    return system.equals("Linux")
        ? flags
        : Stream.concat(flags.stream(), Stream.of("--insecure")).toList();
  }

  /** Names the program of a command, by the variable where that is what chose it. */
  static String chosen(Map<String, String> environment, List<String> command) {
    String program = command.get(0);
    return program.equals(environment.get(PYTHON_VARIABLE))
        ? PYTHON_VARIABLE + "=" + program
        : program;
  }

  private static List<String> program(Map<String, String> environment) {
    String python = environment.get(PYTHON_VARIABLE);
    if (python != null) {
      return serviceOf(python);
    }
    return onPath(environment, "beam-ensembles")
        .map(it -> List.of(it, "serve"))
        .or(
            () ->
                onPath(environment, "python3")
                    .filter(ServiceCommand::hasService)
                    .map(ServiceCommand::serviceOf))
        .orElseThrow(
            () ->
                new EnsembleException(
                    "no beam-ensembles service to call: give withExpansionService an address or set "
                        + RunEnsemble.ADDRESS_VARIABLE
                        + ", or let one be started here: install the Python package from a checkout"
                        + " of beam-ensembles (pip install '.[all]'), or set "
                        + PYTHON_VARIABLE
                        + " to a Python that has it"));
  }

  /**
   * Runs a service with a Python. It imports nothing from the folder in which this program runs
   * (-P), where others may be able to write.
   */
  private static List<String> serviceOf(String python) {
    return List.of(python, "-P", "-m", MODULE);
  }

  private static Optional<String> onPath(Map<String, String> environment, String name) {
    String path = environment.getOrDefault("PATH", "");
    return Stream.of(path.split(Pattern.quote(File.pathSeparator)))
        .filter(folder -> !folder.isEmpty())
        .map(folder -> Path.of(folder, name))
        .filter(Files::isExecutable)
        .map(Path::toString)
        .findFirst();
  }

  private static boolean hasService(String python) {
    try {
      return new ProcessBuilder(python, "-P", "-c", CAN_IMPORT).start().waitFor() == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
