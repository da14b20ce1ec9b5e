package io.github.beamensembles;

import java.io.Serializable;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.IntFunction;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.beam.sdk.schemas.Schema.FieldType;

/** Reads lists from the column of their items. Numbers stay unboxed until somebody takes them. */
@FunctionalInterface
interface ListReader {

  List<?> read(int start, int end);

  /**
   * Gives the reader of a column of lists.
   *
   * @param type of an item
   * @param path what an item is called in messages
   */
  static ListReader of(FieldType type, FieldVector lists, String path) {
    FieldVector items = lists.getChildrenFromFields().get(0);
    ListReader reader = ofItems(type, items, ColumnReader.of(type, items, path));
    return (start, end) -> {
      if (start > end || end > items.getValueCount()) {
        throw new IllegalArgumentException("'" + path + "' has items that are not there");
      }
      return reader.read(start, end);
    };
  }

  private static ListReader ofItems(FieldType type, FieldVector items, ColumnReader reader) {
    if (FieldTypes.isNullable(type)) {
      return (start, end) -> Arrays.asList(values(reader, start, end));
    }
    return switch (type.getTypeName()) {
      case DOUBLE ->
          (start, end) -> {
            double[] values = doubles((Float8Vector) items, start, end);
            return new Numbers(values.length, index -> values[index]);
          };
      case FLOAT ->
          (start, end) -> {
            float[] values = floats((Float4Vector) items, start, end);
            return new Numbers(values.length, index -> values[index]);
          };
      case INT64 ->
          (start, end) -> {
            long[] values = longs((BigIntVector) items, start, end);
            return new Numbers(values.length, index -> values[index]);
          };
      case INT32 ->
          (start, end) -> {
            int[] values = ints((IntVector) items, start, end);
            return new Numbers(values.length, index -> values[index]);
          };
      default -> (start, end) -> Arrays.asList(values(reader, start, end));
    };
  }

  private static Object[] values(ColumnReader reader, int start, int end) {
    Object[] values = new Object[end - start];
    for (int at = start; at < end; at++) {
      values[at - start] = reader.read(at);
    }
    return values;
  }

  private static double[] doubles(Float8Vector items, int start, int end) {
    double[] values = new double[end - start];
    for (int at = start; at < end; at++) {
      values[at - start] = items.get(at);
    }
    return values;
  }

  private static float[] floats(Float4Vector items, int start, int end) {
    float[] values = new float[end - start];
    for (int at = start; at < end; at++) {
      values[at - start] = items.get(at);
    }
    return values;
  }

  private static long[] longs(BigIntVector items, int start, int end) {
    long[] values = new long[end - start];
    for (int at = start; at < end; at++) {
      values[at - start] = items.get(at);
    }
    return values;
  }

  private static int[] ints(IntVector items, int start, int end) {
    int[] values = new int[end - start];
    for (int at = start; at < end; at++) {
      values[at - start] = items.get(at);
    }
    return values;
  }

  /** Boxes a number of an array. */
  interface Values extends IntFunction<Object>, Serializable {}

  /** Numbers of one type, boxed when they are taken. */
  final class Numbers extends AbstractList<Object> implements RandomAccess, Serializable {
    private final int size;
    private final Values values;

    private Numbers(int size, Values values) {
      this.size = size;
      this.values = values;
    }

    @Override
    public Object get(int index) {
      return values.apply(index);
    }

    @Override
    public int size() {
      return size;
    }
  }
}
