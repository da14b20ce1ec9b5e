package io.github.beamensembles;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.MessageHeader;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;

/**
 * The one record batch of an Arrow IPC stream, in memory outside Java's heap until it is closed.
 *
 * <p>Arrow's own stream reader loses memory where a stream is damaged, and believes any length that
 * stands in it.
 */
final class IncomingBatch implements AutoCloseable {

  private static final int CONTINUATION = 0xFFFFFFFF;

  /** Buffers are rounded up, and Arrow makes some of its own. */
  private static final long SLACK = 1 << 20;

  private final ByteBuffer stream;
  private final BufferAllocator memory;
  private VectorSchemaRoot root;
  private ArrowBuf body;

  /**
   * Loads the batch of a stream.
   *
   * @throws IllegalArgumentException the stream holds something else
   */
  IncomingBatch(byte[] bytes, BufferAllocator owner) throws IOException {
    stream = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    memory = owner.newChildAllocator("batch", 0, 4L * bytes.length + SLACK);
    root = VectorSchemaRoot.of();
    body = memory.getEmpty();
    try {
      Message schema = next("a schema", MessageHeader.Schema);
      root = VectorSchemaRoot.create(MessageSerializer.deserializeSchema(schema), memory);
      load(next("a record batch", MessageHeader.RecordBatch));
      check(isAtEnd(), "it holds more than one record batch");
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  VectorSchemaRoot root() {
    return root;
  }

  private void load(Message message) throws IOException {
    int length = checkedLength(message.bodyLength());
    body = memory.buffer(length);
    body.setBytes(0, stream.array(), stream.position(), length);
    stream.position(stream.position() + length);
    try (ArrowRecordBatch batch = MessageSerializer.deserializeRecordBatch(message, body)) {
      for (ArrowFieldNode node : batch.getNodes()) {
        // A value takes a bit at least.
        check(node.getLength() <= 8L * length, "it has more values than bits");
      }
      new VectorLoader(root).load(batch);
    }
  }

  private Message next(String what, byte header) {
    check(!isAtEnd(), "it holds no record batch");
    int length = checkedLength(stream.getInt());
    Message message = Message.getRootAsMessage(stream.slice().order(ByteOrder.LITTLE_ENDIAN));
    stream.position(stream.position() + length);
    byte found = message.headerType();
    check(found == header, "it holds " + MessageHeader.name(found) + " where it should " + what);
    return message;
  }

  /** A stream ends with a message of no bytes, or with the bytes. */
  private boolean isAtEnd() {
    if (stream.remaining() < 8) {
      return true;
    }
    check(stream.getInt() == CONTINUATION, "its messages have no lengths");
    return stream.getInt(stream.position()) == 0;
  }

  private int checkedLength(long length) {
    check(length >= 0 && length <= stream.remaining(), "it ends too early");
    return (int) length;
  }

  private static void check(boolean holds, String sentence) {
    if (!holds) {
      throw new IllegalArgumentException(sentence);
    }
  }

  @Override
  public void close() {
    root.close();
    int lost = body.refCnt();
    if (lost > 0) {
      body.getReferenceManager().release(lost);
    }
    memory.close();
  }
}
