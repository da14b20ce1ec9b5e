package io.github.beamensembles;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import net.jpountz.lz4.LZ4FrameInputStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.compression.AbstractCompressionCodec;
import org.apache.arrow.vector.compression.CompressionCodec;
import org.apache.arrow.vector.compression.CompressionUtil;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.apache.arrow.vector.compression.NoCompressionCodec;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;

/** Reads the streams that {@link BatchWriter} compresses, with Arrow's own reader. */
final class Uncompressed implements CompressionCodec.Factory {

  private Uncompressed() {}

  /** Gives the same stream without compression. */
  static byte[] stream(byte[] stream) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (BufferAllocator memory = new RootAllocator();
        ArrowStreamReader reader =
            new ArrowStreamReader(new ByteArrayInputStream(stream), memory, new Uncompressed());
        ArrowStreamWriter writer =
            new ArrowStreamWriter(reader.getVectorSchemaRoot(), null, bytes)) {
      writer.start();
      while (reader.loadNextBatch()) {
        writer.writeBatch();
      }
      writer.end();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /** Each buffer of a compressed stream has a length before it, so the lengths always differ. */
  static boolean differs(byte[] stream) {
    return stream(stream).length != stream.length;
  }

  @Override
  public CompressionCodec createCodec(CodecType type) {
    return type == CodecType.LZ4_FRAME ? new Frames() : NoCompressionCodec.INSTANCE;
  }

  @Override
  public CompressionCodec createCodec(CodecType type, int level) {
    return createCodec(type);
  }

  private static final class Frames extends AbstractCompressionCodec {

    @Override
    public CodecType getCodecType() {
      return CodecType.LZ4_FRAME;
    }

    @Override
    protected ArrowBuf doCompress(BufferAllocator memory, ArrowBuf plain) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected ArrowBuf doDecompress(BufferAllocator memory, ArrowBuf frame) {
      long start = CompressionUtil.SIZE_OF_UNCOMPRESSED_LENGTH;
      byte[] compressed = new byte[(int) (frame.writerIndex() - start)];
      frame.getBytes(start, compressed);
      try (LZ4FrameInputStream in = new LZ4FrameInputStream(new ByteArrayInputStream(compressed))) {
        byte[] plain = in.readAllBytes();
        if (plain.length != readUncompressedLength(frame)) {
          throw new IOException("a buffer has " + plain.length + " bytes");
        }
        ArrowBuf buffer = memory.buffer(plain.length);
        buffer.writeBytes(plain);
        return buffer;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
