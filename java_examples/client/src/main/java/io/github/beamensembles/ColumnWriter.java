package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.Schema.LogicalType;
import org.apache.beam.sdk.values.Row;
import org.joda.time.ReadableInstant;

/**
 * Writes the values of one field into a column of {@link ArrowSchema}; chosen once, by the field's
 * type. Indices rise from batch to batch's end.
 */
@FunctionalInterface
interface ColumnWriter {

  /** Writes a value, which is null only where the field may be. */
  void write(int index, Object value);

  /**
   * Gives the writer of a column.
   *
   * @param path what the field is called in messages
   */
  static ColumnWriter of(FieldType type, FieldVector column, String path) {
    ColumnWriter values = ofValues(type, column, path);
    if (FieldTypes.isNullable(type)) {
      return (index, value) -> {
        if (value == null) {
          column.setNull(index);
        } else {
          values.write(index, value);
        }
      };
    }
    return (index, value) -> {
      if (value == null) {
        throw missing(type, path);
      }
      values.write(index, value);
    };
  }

  static IllegalArgumentException missing(FieldType type, String path) {
    return new IllegalArgumentException(
        "a row has no '" + path + "', whose type " + PortableTypes.nameOf(type) + " has no null");
  }

  private static ColumnWriter ofValues(FieldType type, FieldVector column, String path) {
    return switch (type.getTypeName()) {
      case STRING -> {
        VarCharVector to = (VarCharVector) column;
        yield (index, value) -> to.setSafe(index, ((String) value).getBytes(UTF_8));
      }
      case BYTES -> {
        VarBinaryVector to = (VarBinaryVector) column;
        yield (index, value) -> to.setSafe(index, (byte[]) value);
      }
      case BOOLEAN -> {
        BitVector to = (BitVector) column;
        yield (index, value) -> to.setSafe(index, (Boolean) value ? 1 : 0);
      }
      case BYTE -> {
        TinyIntVector to = (TinyIntVector) column;
        yield (index, value) -> to.setSafe(index, (Byte) value);
      }
      case INT16 -> {
        SmallIntVector to = (SmallIntVector) column;
        yield (index, value) -> to.setSafe(index, (Short) value);
      }
      case INT32 -> {
        IntVector to = (IntVector) column;
        yield (index, value) -> to.setSafe(index, (Integer) value);
      }
      case INT64 -> {
        BigIntVector to = (BigIntVector) column;
        yield (index, value) -> to.setSafe(index, (Long) value);
      }
      case FLOAT -> {
        Float4Vector to = (Float4Vector) column;
        yield (index, value) -> to.setSafe(index, (Float) value);
      }
      case DOUBLE -> {
        Float8Vector to = (Float8Vector) column;
        yield (index, value) -> to.setSafe(index, (Double) value);
      }
      case DECIMAL -> {
        VarBinaryVector to = (VarBinaryVector) column;
        yield (index, value) -> to.setSafe(index, value.toString().getBytes(UTF_8));
      }
      case DATETIME -> {
        BigIntVector to = (BigIntVector) column;
        yield (index, value) ->
            to.setSafe(
                index, micros(Instant.ofEpochMilli(((ReadableInstant) value).getMillis()), path));
      }
      case LOGICAL_TYPE -> ofLogical(type, column, path);
      case ARRAY -> ofLists(type.getCollectionElementType(), (ListVector) column, path);
      case MAP -> ofMaps(type, (MapVector) column, path);
      case ROW -> ofRows(type.getRowSchema(), (StructVector) column, path);
      default -> throw new IllegalArgumentException(PortableTypes.nameOf(type) + " cannot cross");
    };
  }

  /** What Beam's coder of such instants writes, too: it has no nanoseconds. */
  private static long micros(Instant at, String path) {
    try {
      return Math.addExact(
          Math.multiplyExact(at.getEpochSecond(), 1_000_000L), at.getNano() / 1000);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "'" + path + "' is " + at + ", farther away from 1970 than a timestamp can be", e);
    }
  }

  private static ColumnWriter ofLogical(FieldType type, FieldVector column, String path) {
    @SuppressWarnings("unchecked") // values are of the type's own
    LogicalType<Object, Object> logical = (LogicalType<Object, Object>) type.getLogicalType();
    if (PortableTypes.isMicros(type)) {
      BigIntVector to = (BigIntVector) column;
      return (index, value) -> to.setSafe(index, micros((Instant) value, path));
    }
    ColumnWriter base = ofValues(logical.getBaseType(), column, path);
    return (index, value) -> base.write(index, logical.toBaseType(value));
  }

  private static ColumnWriter ofLists(FieldType item, ListVector column, String path) {
    ListWriter items = ListWriter.of(item, column.getDataVector(), path + "[]");
    return (index, value) -> {
      Collection<?> list = (Collection<?>) value;
      items.write(column.startNewValue(index), list);
      column.endValue(index, list.size());
    };
  }

  private static ColumnWriter ofMaps(FieldType type, MapVector column, String path) {
    StructVector entries = (StructVector) column.getDataVector();
    List<FieldVector> both = entries.getChildrenFromFields();
    ColumnWriter keys = of(type.getMapKeyType().withNullable(false), both.get(0), path + ".key");
    ColumnWriter values = of(type.getMapValueType(), both.get(1), path + ".value");
    return (index, value) -> {
      Map<?, ?> map = (Map<?, ?>) value;
      int at = column.startNewValue(index);
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        entries.setIndexDefined(at);
        keys.write(at, entry.getKey());
        values.write(at++, entry.getValue());
      }
      column.endValue(index, map.size());
    };
  }

  private static ColumnWriter ofRows(Schema schema, StructVector column, String path) {
    ColumnWriter[] fields = ofFields(schema, column.getChildrenFromFields(), path + ".");
    return (index, value) -> {
      Row row = (Row) value;
      column.setIndexDefined(index);
      for (int field = 0; field < fields.length; field++) {
        fields[field].write(index, row.getValue(field));
      }
    };
  }

  /** Gives the writers of a schema's fields; there may be more columns. */
  static ColumnWriter[] ofFields(Schema schema, List<FieldVector> columns, String path) {
    ColumnWriter[] writers = new ColumnWriter[schema.getFieldCount()];
    for (int field = 0; field < writers.length; field++) {
      Schema.Field of = schema.getField(field);
      writers[field] = of(of.getType(), columns.get(field), path + of.getName());
    }
    return writers;
  }
}
