package io.github.beamensembles;

import java.nio.Buffer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The memory outside Java's heap in which Arrow keeps its batches. */
final class ArrowMemory {

  /** Lets Arrow reach the addresses of Java's buffers. */
  static final String FLAG = "--add-opens=java.base/java.nio=ALL-UNNAMED";

  private ArrowMemory() {}

  /** Whether this Java was started so that Arrow can use its memory. */
  static boolean isOpen() {
    // Arrow's classes cannot be loaded for good without it, so it is not asked itself.
    return Buffer.class.getModule().isOpen("java.nio", BufferAllocator.class.getModule());
  }

  /**
   * Opens an allocator that its owner closes.
   *
   * @throws IllegalStateException this Java was started without the flag
   */
  static BufferAllocator open() {
    if (!isOpen()) {
      throw new IllegalStateException(
          "this worker cannot pack rows with Arrow: start it with "
              + FLAG
              + ", or use withEncoding(Encoding.ROWS)");
    }
    return new RootAllocator();
  }
}
