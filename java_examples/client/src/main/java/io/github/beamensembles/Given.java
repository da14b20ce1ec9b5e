package io.github.beamensembles;

/** Checks what a caller gives. */
final class Given {

  private Given() {}

  /** Returns the value. */
  static <T> T notNull(T value, String name) {
    if (value == null) {
      throw new IllegalArgumentException("'" + name + "' is null");
    }
    return value;
  }
}
