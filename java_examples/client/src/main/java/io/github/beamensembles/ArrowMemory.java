package io.github.beamensembles;

import java.nio.Buffer;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Instant;

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

  /** Why rows cannot be packed in this program, and what to do; empty where they can. */
  static Optional<String> obstacle() {
    if (!isOpen()) {
      return Optional.of("to have them packed, start this program with " + FLAG);
    }
    return obstacle(ArrowMemory::tryOut);
  }

  /** Why a trial of Arrow fails. */
  static Optional<String> obstacle(Runnable trial) {
    try {
      trial.run();
      return Optional.empty();
    } catch (RuntimeException | LinkageError e) {
      Throwable first = e;
      while (first.getCause() != null) {
        first = first.getCause();
      }
      return Optional.of(
          "Arrow cannot be used with this Java and these libraries ("
              + String.valueOf(first).replaceAll("\\s+", " ")
              + ")");
    }
  }

  private static void tryOut() {
    Schema schema = Schema.builder().addInt64Field("x").build();
    Row row = Row.withSchema(schema).addValue(1L).build();
    try (BatchWriter writer = new BatchWriter(schema);
        BatchReader reader = new BatchReader(schema)) {
      reader.read(writer.write(List.of(TimestampedValue.of(row, new Instant(0)))));
    }
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
