package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;

/**
 * Writes fields of protocol buffers, for messages of Beam whose setters take a type that is
 * different in another version of Beam.
 */
final class ProtoWriter {

  private static final int LENGTH_DELIMITED = 2;

  private final ByteArrayOutputStream message = new ByteArrayOutputStream();

  /**
   * Starts with the fields of another message; of a field that is set twice the last one counts.
   */
  ProtoWriter message(byte[] other) {
    message.writeBytes(other);
    return this;
  }

  ProtoWriter string(int field, String value) {
    return bytes(field, value.getBytes(UTF_8));
  }

  /** Adds bytes, or a message. */
  ProtoWriter bytes(int field, byte[] value) {
    varint(field << 3 | LENGTH_DELIMITED);
    varint(value.length);
    message.writeBytes(value);
    return this;
  }

  private void varint(int number) {
    int rest = number;
    while (rest > 0x7F) {
      message.write(rest & 0x7F | 0x80);
      rest >>>= 7;
    }
    message.write(rest);
  }

  byte[] written() {
    return message.toByteArray();
  }
}
