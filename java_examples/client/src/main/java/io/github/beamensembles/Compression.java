package io.github.beamensembles;

/**
 * Finds out whether the batches of a writer become smaller by compressing them.
 *
 * <p>One is compressed where that saves at least a quarter of it, which is about where handing on
 * the bytes costs more than LZ4 does. Where it saves less, it is tried again some batches later.
 * What is small is left as it is.
 */
final class Compression {

  static final int SMALL_BYTES = 64 << 10;
  static final int PLAIN_BATCHES = 32;

  private static final double WORTH_SAVING = 0.25;

  /** How many batches are left to write before compressing one. */
  private int plain;

  /** Whether to compress the next batch, of about so many bytes. */
  boolean isDue(int bytes) {
    if (bytes < SMALL_BYTES) {
      return false;
    }
    if (plain > 0) {
      plain--;
      return false;
    }
    return true;
  }

  /** Takes what became of a batch that was compressed. */
  void became(int bytes, int before) {
    if (bytes > (1 - WORTH_SAVING) * before) {
      plain = PLAIN_BATCHES;
    }
  }
}
