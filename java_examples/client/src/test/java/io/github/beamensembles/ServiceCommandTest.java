package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link ServiceCommand}. */
@RunWith(JUnit4.class)
public class ServiceCommandTest {

  private static final List<String> FLAGS =
      Stream.concat(
              ServiceCommand.flags(System.getProperty("os.name")).stream(),
              Stream.of("--trust", "/models"))
          .toList();

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private String program(String name, String script) throws IOException {
    Path file = folder.getRoot().toPath().resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + script + "\n");
    assertTrue(file.toFile().setExecutable(true));
    return file.toString();
  }

  private Map<String, String> path() {
    return Map.of("PATH", "/no/such/folder" + File.pathSeparator + folder.getRoot());
  }

  private static void assertCommand(List<String> program, Map<String, String> environment) {
    List<String> command = ServiceCommand.find(environment, List.of("/models"));
    assertEquals(program, command.subList(0, program.size()));
    assertEquals(FLAGS, command.subList(program.size(), command.size()));
  }

  @Test
  public void thePythonOfTheEnvironmentComesFirst() throws IOException {
    program("beam-ensembles", "exit 0");

    assertCommand(
        List.of("/my/python", "-P", "-m", "beam_ensembles_service"),
        Map.of("BEAM_ENSEMBLES_PYTHON", "/my/python", "PATH", folder.getRoot().toString()));
  }

  @Test
  public void everyUserIsLetInOnlyWhereTheSystemTellsNone() {
    assertFalse(ServiceCommand.flags("Linux").contains("--insecure"));
    for (String system : List.of("Mac OS X", "Windows 11")) {
      assertTrue(system, ServiceCommand.flags(system).contains("--insecure"));
    }
  }

  @Test
  public void thenTheCommandOnThePath() throws IOException {
    String command = program("beam-ensembles", "exit 0");
    program("python3", "exit 0");

    assertCommand(List.of(command, "serve"), path());
  }

  @Test
  public void thenAPythonThatHasTheService() throws IOException {
    String python = program("python3", "exit 0");

    assertCommand(List.of(python, "-P", "-m", "beam_ensembles_service"), path());
  }

  @Test
  public void aPythonWithoutItIsNoUse() throws IOException {
    program("python3", "exit 1");

    EnsembleException error =
        assertThrows(
            EnsembleException.class, () -> ServiceCommand.find(path(), List.of("/models")));

    assertTrue(error.getMessage(), error.getMessage().contains("BEAM_ENSEMBLES_ADDR"));
    assertTrue(error.getMessage(), error.getMessage().contains("BEAM_ENSEMBLES_PYTHON"));
    assertTrue(error.getMessage(), error.getMessage().contains("(pip install '.[all]')"));
  }

  @Test
  public void aProgramIsNamedByTheVariableThatChoseIt() {
    Map<String, String> environment = Map.of("BEAM_ENSEMBLES_PYTHON", "/nope");

    assertEquals(
        "BEAM_ENSEMBLES_PYTHON=/nope",
        ServiceCommand.chosen(environment, ServiceCommand.find(environment, List.of())));
    assertEquals(
        "/bin/beam-ensembles",
        ServiceCommand.chosen(environment, List.of("/bin/beam-ensembles", "serve")));
  }
}
