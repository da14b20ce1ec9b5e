package io.github.beamensembles;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link WorkerChannels}. */
@RunWith(JUnit4.class)
public class WorkerChannelsTest {

  private static LogRecord channelOpenedBy(String className) {
    Throwable site = new RuntimeException("ManagedChannel allocation site");
    site.setStackTrace(
        new StackTraceElement[] {
          new StackTraceElement("org.apache.beam.sdk.fn.channel.X", "build", "X.java", 1),
          new StackTraceElement(className, "main", "Y.java", 1)
        });
    LogRecord record = new LogRecord(Level.SEVERE, "was garbage collected without being shut down");
    record.setThrown(site);
    return record;
  }

  @Test
  public void onlyChannelsOfWorkersAreLeftOut() {
    WorkerChannels.quiet();
    WorkerChannels.quiet();
    String name = BeamGrpc.type("io.grpc.internal.ManagedChannelOrphanWrapper").getName();
    Logger logger = LogManager.getLogManager().getLogger(name);

    assertFalse(
        logger.getFilter().isLoggable(channelOpenedBy("org.apache.beam.fn.harness.FnHarness")));
    assertTrue(logger.getFilter().isLoggable(channelOpenedBy("com.example.Program")));
    assertTrue(logger.getFilter().isLoggable(new LogRecord(Level.SEVERE, "something else")));
  }
}
