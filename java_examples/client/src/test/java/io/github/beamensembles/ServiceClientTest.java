package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Server;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.ServerBuilder;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.Timeout;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link ServiceClient}: one clear sentence, soon, whatever listens there. */
@RunWith(JUnit4.class)
public class ServiceClientTest {

  @Rule public final Timeout soon = Timeout.seconds(300);

  private static ServiceClient client(String address) {
    ServiceEndpoint service =
        new ServiceEndpoint(
            address, Security.NONE, Timeouts.DEFAULT.withConnect(Duration.ofMillis(500)));
    return new ServiceClient(service, response -> {}, new SecuredArtifacts());
  }

  private static String failure(int port) {
    ServiceClient client = client("127.0.0.1:" + port);
    EnsembleException error =
        assertThrows(
            EnsembleException.class, () -> client.expand(ExpansionRequest.getDefaultInstance()));
    assertTrue(error.getMessage(), error.getMessage().contains("127.0.0.1:" + port));
    assertEquals(1, error.getMessage().lines().count());
    return error.getMessage();
  }

  @Test
  public void nothingListens() throws IOException {
    int free;
    try (ServerSocket socket = new ServerSocket(0)) {
      free = socket.getLocalPort();
    }

    assertTrue(failure(free).startsWith("no beam-ensembles service answers"));
  }

  @Test
  public void somethingListensAndSaysNothing() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      String said = failure(silent.getLocalPort());
      assertTrue(said, said.contains("does not answer within 0.5 s"));
      assertTrue(said, said.contains("'connect' of withTimeouts"));
    }
  }

  @Test
  public void anHttpServerListens() throws IOException {
    HttpServer other =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    other.start();
    try {
      String said = failure(other.getAddress().getPort());
      assertTrue(said, said.startsWith("an HTTP server, not a beam-ensembles service"));
    } finally {
      other.stop(0);
    }
  }

  @Test
  public void somethingElseSpeaksGrpc() throws IOException {
    Server other = ServerBuilder.forPort(0).build().start();
    try {
      assertTrue(failure(other.getPort()).contains("is not a beam-ensembles service"));
    } finally {
      other.shutdownNow();
    }
  }
}
