package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link ServiceProcess}, with shell scripts for services. */
@RunWith(JUnit4.class)
public class ServiceProcessTest {

  private static final String READY = "echo 'beam-ensembles 0.1.0 listening on 127.0.0.1:4242'";

  @Rule public final Timeout soon = Timeout.seconds(300);

  private static List<String> shell(String script) {
    return List.of("/bin/sh", "-c", script);
  }

  private static String failure(List<String> command, Duration patience) {
    return assertThrows(EnsembleException.class, () -> ServiceProcess.start(command, patience))
        .getMessage();
  }

  @Test
  public void theAddressIsThatOfTheFirstLine() {
    ServiceProcess service = ServiceProcess.start(shell(READY + "; cat"), Duration.ofMinutes(5));

    assertEquals("127.0.0.1:4242", service.address());
    assertTrue(service.isAlive());
    service.stop();
    assertFalse(service.isAlive());
  }

  @Test
  public void oneServiceServesTheWholeProgram() {
    // What it prints tells one process from another.
    List<String> command =
        shell("echo \"beam-ensembles 0.1.0 listening on 127.0.0.1:$$\"; exec cat");

    assertEquals(
        ServiceProcess.addressOf(command, Timeouts.DEFAULT.start()),
        ServiceProcess.addressOf(command, Timeouts.DEFAULT.start()));
  }

  @Test
  public void aServiceThatEndedIsStartedAgain() throws InterruptedException {
    List<String> command =
        shell("echo \"beam-ensembles 0.1.0 listening on 127.0.0.1:$$\"; sleep 0.2");

    String first = ServiceProcess.addressOf(command, Timeouts.DEFAULT.start());

    while (first.equals(ServiceProcess.addressOf(command, Timeouts.DEFAULT.start()))) {
      Thread.sleep(50);
    }
  }

  @Test
  public void whatAServiceSaidBeforeItEndedIsShown() {
    String message =
        failure(shell("echo 'port 8097 is in use' >&2; exit 3"), Duration.ofMinutes(5));

    assertEquals("the beam-ensembles service ended with exit code 3: port 8097 is in use", message);
  }

  @Test
  public void aServiceThatNeverListensIsGivenUp() {
    String message = failure(shell("exec sleep 3600"), Duration.ofSeconds(1));

    assertEquals(
        "the beam-ensembles service did not listen within 1 s; allow more with withTimeouts",
        message);
  }

  @Test
  public void aProgramThatCannotBeStartedIsNamed() {
    String message = failure(List.of("/no/such/python"), Duration.ofSeconds(1));

    assertTrue(message, message.contains("cannot be started with /no/such/python: "));
  }
}
