package io.github.beamensembles;

import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.compression.AbstractCompressionCodec;
import org.apache.arrow.vector.compression.CompressionUtil;

/** Compresses the buffers of a batch to LZ4 frames, and reads none. */
final class Lz4Codec extends AbstractCompressionCodec {

  /** A frame's magic number. */
  private static final int MAGIC = 0x184D2204;

  /**
   * What follows the magic number: blocks of their own (0x60) of 4 MiB at most (0x70), no sizes or
   * checksums, and the byte (0x73) of these two's hash that the format demands.
   */
  private static final byte[] DESCRIPTOR = {0x60, 0x70, 0x73};

  /** So few that a block has no more than 4 MiB where compressing makes it larger. */
  private static final int BLOCK_BYTES = 4_000_000;

  /** In Java, a tenth slower than LZ4's native code, which cannot be relocated. */
  private final LZ4Compressor compressor = LZ4Factory.safeInstance().fastCompressor();

  @Override
  public CompressionUtil.CodecType getCodecType() {
    return CompressionUtil.CodecType.LZ4_FRAME;
  }

  @Override
  protected ArrowBuf doCompress(BufferAllocator memory, ArrowBuf plain) {
    long length = plain.writerIndex();
    ArrowBuf frame = memory.buffer(maxBytes(length));
    // Before the frame comes the length, which the superclass writes.
    frame.writerIndex(CompressionUtil.SIZE_OF_UNCOMPRESSED_LENGTH);
    frame.writeInt(MAGIC);
    frame.writeBytes(DESCRIPTOR);
    for (long start = 0; start < length; start += BLOCK_BYTES) {
      writeBlock(plain, start, (int) Math.min(BLOCK_BYTES, length - start), frame);
    }
    frame.writeInt(0);
    return frame;
  }

  private void writeBlock(ArrowBuf plain, long start, int length, ArrowBuf frame) {
    long sizeAt = frame.writerIndex();
    long at = sizeAt + Integer.BYTES;
    int room = compressor.maxCompressedLength(length);
    int size =
        compressor.compress(
            plain.nioBuffer(start, length), 0, length, frame.nioBuffer(at, room), 0, room);
    frame.setInt(sizeAt, size);
    frame.writerIndex(at + size);
  }

  private long maxBytes(long length) {
    long blocks = length / BLOCK_BYTES + 1;
    long around =
        CompressionUtil.SIZE_OF_UNCOMPRESSED_LENGTH
            + Integer.BYTES
            + DESCRIPTOR.length
            + Integer.BYTES;
    int block = compressor.maxCompressedLength((int) Math.min(BLOCK_BYTES, length));
    return around + blocks * (Integer.BYTES + (long) block);
  }

  @Override
  protected ArrowBuf doDecompress(BufferAllocator memory, ArrowBuf frame) {
    throw new UnsupportedOperationException("what comes back is not compressed");
  }
}
