package io.github.beamensembles;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collection;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BitVectorHelper;
import org.apache.arrow.vector.FieldVector;
import org.apache.beam.sdk.schemas.Schema.FieldType;

/** Writes the items of a list into the column of items. Numbers go straight into its memory. */
@FunctionalInterface
interface ListWriter {

  /** Writes the items, the first of them at {@code start}. */
  void write(int start, Collection<?> list);

  /**
   * Gives the writer of a column of items.
   *
   * @param type of an item
   * @param path what an item is called in messages
   */
  static ListWriter of(FieldType type, FieldVector items, String path) {
    if (!FieldTypes.isNullable(type)) {
      switch (type.getTypeName()) {
        case DOUBLE -> {
          return ofNumbers(items, type, path, (to, item) -> to.putDouble((Double) item));
        }
        case FLOAT -> {
          return ofNumbers(items, type, path, (to, item) -> to.putFloat((Float) item));
        }
        case INT64 -> {
          return ofNumbers(items, type, path, (to, item) -> to.putLong((Long) item));
        }
        case INT32 -> {
          return ofNumbers(items, type, path, (to, item) -> to.putInt((Integer) item));
        }
        default -> {}
      }
    }
    ColumnWriter writer = ColumnWriter.of(type, items, path);
    return (start, list) -> {
      int index = start;
      for (Object item : list) {
        writer.write(index++, item);
      }
    };
  }

  private static ListWriter ofNumbers(
      FieldVector column, FieldType type, String path, NumberWriter writer) {
    BaseFixedWidthVector items = (BaseFixedWidthVector) column;
    int width = items.getTypeWidth();
    return (start, list) -> {
      int end = start + list.size();
      while (items.getValueCapacity() < end) {
        items.reAlloc();
      }
      // Java's heap is the faster place for one number after the other.
      ByteBuffer numbers = ByteBuffer.allocate(width * list.size()).order(ByteOrder.LITTLE_ENDIAN);
      for (Object item : list) {
        if (item == null) {
          throw ColumnWriter.missing(type, path);
        }
        writer.write(numbers, item);
      }
      items.getDataBuffer().setBytes((long) start * width, numbers.array());
      markValid(items.getValidityBuffer(), start, end);
    };
  }

  private static void markValid(ArrowBuf validity, int start, int end) {
    int index = start;
    while (index < end && index % 8 != 0) {
      BitVectorHelper.setBit(validity, index++);
    }
    int bytes = (end - index) / 8;
    validity.setOne(index / 8L, (long) bytes);
    for (index += 8 * bytes; index < end; index++) {
      BitVectorHelper.setBit(validity, index);
    }
  }

  /** Writes one number. */
  @FunctionalInterface
  interface NumberWriter {
    void write(ByteBuffer to, Object number);
  }
}
