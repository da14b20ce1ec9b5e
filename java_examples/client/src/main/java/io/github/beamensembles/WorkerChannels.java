package io.github.beamensembles;

import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * Keeps harmless errors out of the log: Beam's worker never shuts down some of its channels, and
 * gRPC logs each of them, with a stack trace, when it is collected. Channels of others are logged.
 */
final class WorkerChannels {

  private static final String WORKER = "org.apache.beam.fn.harness.";

  /** Held, because a logger that nobody holds loses its filter. */
  private static Logger logger;

  private WorkerChannels() {}

  /** Filters the log from now on, if nobody else filters it. */
  static synchronized void quiet() {
    if (logger == null) {
      String name = BeamGrpc.type("io.grpc.internal.ManagedChannelOrphanWrapper").getName();
      logger = Logger.getLogger(name);
      if (logger.getFilter() == null) {
        logger.setFilter(WorkerChannels::isOfOthers);
      }
    }
  }

  /** Whether a record is about a channel that something else than a worker opened. */
  static boolean isOfOthers(LogRecord record) {
    return record.getThrown() == null
        || Stream.of(record.getThrown().getStackTrace())
            .noneMatch(frame -> frame.getClassName().startsWith(WORKER));
  }
}
