package io.github.beamensembles;

import java.time.Duration;

/**
 * How long the parts of a call may take.
 *
 * @param start from the start of a service by the client until it listens; 60 s unless set
 * @param connect until a service answers a health check; 5 s unless set
 * @param expand until the service has checked the ensemble, for which it may fetch models; 5
 *     minutes unless set
 */
public record Timeouts(Duration start, Duration connect, Duration expand) {

  /** What holds unless something else is set. */
  public static final Timeouts DEFAULT =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(5), Duration.ofMinutes(5));

  /** Takes durations longer than zero. */
  public Timeouts {
    checked("start", start);
    checked("connect", connect);
    checked("expand", expand);
  }

  /** Returns these, with another time for the start of a service. */
  public Timeouts withStart(Duration time) {
    return new Timeouts(time, connect, expand);
  }

  /** Returns these, with another time for the first answer. */
  public Timeouts withConnect(Duration time) {
    return new Timeouts(start, time, expand);
  }

  /** Returns these, with another time for the checks of the service. */
  public Timeouts withExpand(Duration time) {
    return new Timeouts(start, connect, time);
  }

  private static void checked(String name, Duration time) {
    Given.notNull(time, name);
    if (time.isZero() || time.isNegative()) {
      throw new IllegalArgumentException(
          "the timeout '" + name + "' must be longer than zero, not " + time);
    }
  }
}
