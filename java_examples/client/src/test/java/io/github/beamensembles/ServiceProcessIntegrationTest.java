package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;

import java.time.Duration;
import java.util.List;
import org.apache.beam.model.expansion.v1.ExpansionApi.DiscoverSchemaTransformRequest;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Starts and stops the real service, where the environment names a Python that has it. */
@RunWith(JUnit4.class)
public class ServiceProcessIntegrationTest {

  @Rule public final Timeout patience = Timeout.seconds(600);

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void aServiceIsStartedAskedAndStopped() {
    RealRunner.assumed(ServiceCommand.PYTHON_VARIABLE);
    List<String> command =
        ServiceCommand.find(System.getenv(), List.of(folder.getRoot().toString()));

    ServiceProcess process = ServiceProcess.start(command, Duration.ofMinutes(5));
    ServiceEndpoint service =
        new ServiceEndpoint(process.address(), Security.NONE, Timeouts.DEFAULT);
    ServiceClient client = new ServiceClient(service, response -> {}, new SecuredArtifacts());

    DiscoverSchemaTransformRequest everything = DiscoverSchemaTransformRequest.getDefaultInstance();
    assertEquals(
        List.of(ConfigRow.IDENTIFIER),
        List.copyOf(client.discover(everything).getSchemaTransformConfigsMap().keySet()));
    process.stop();
    assertThrows(EnsembleException.class, () -> client.discover(everything));
  }

  @Test
  public void aTestRunSharesOneService() {
    RealRunner.assumed(ServiceCommand.PYTHON_VARIABLE);
    String trusted = folder.getRoot().toString();

    String address;
    try (EnsembleService service = EnsembleService.shared(trusted)) {
      address = service.address();
    }

    assertEquals(address, EnsembleService.shared(trusted).address());
    try (EnsembleService own = EnsembleService.start(trusted)) {
      assertNotEquals(address, own.address());
    }
  }
}
