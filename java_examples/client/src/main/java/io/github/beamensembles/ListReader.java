package io.github.beamensembles;

import java.util.Arrays;
import java.util.List;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.primitives.Doubles;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.primitives.Floats;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.primitives.Ints;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.primitives.Longs;

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
    if (type.getNullable()) {
      return (start, end) -> Arrays.asList(values(reader, start, end));
    }
    return switch (type.getTypeName()) {
      case DOUBLE -> (start, end) -> Doubles.asList(doubles((Float8Vector) items, start, end));
      case FLOAT -> (start, end) -> Floats.asList(floats((Float4Vector) items, start, end));
      case INT64 -> (start, end) -> Longs.asList(longs((BigIntVector) items, start, end));
      case INT32 -> (start, end) -> Ints.asList(ints((IntVector) items, start, end));
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
}
