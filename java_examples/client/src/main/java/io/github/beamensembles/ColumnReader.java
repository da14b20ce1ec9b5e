package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.BaseVariableWidthVector;
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
import org.apache.arrow.vector.complex.BaseListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.Schema.LogicalType;
import org.apache.beam.sdk.values.Row;
import org.joda.time.Instant;

/**
 * Reads the values of one field from a column; chosen once per batch, by the field's type. What it
 * gives is on Java's heap.
 */
@FunctionalInterface
interface ColumnReader {

  Object read(int index);

  /**
   * Gives the reader of a column.
   *
   * @param path what the field is called in messages
   * @throws IllegalArgumentException the column has no layout of this type
   */
  static ColumnReader of(FieldType type, FieldVector column, String path) {
    ColumnReader values = ofValues(type, column, path);
    if (FieldTypes.isNullable(type)) {
      return index -> column.isNull(index) ? null : values.read(index);
    }
    return index -> {
      if (column.isNull(index)) {
        throw new IllegalArgumentException(
            "'" + path + "' is null, which " + PortableTypes.nameOf(type) + " is never");
      }
      return values.read(index);
    };
  }

  private static ColumnReader ofValues(FieldType type, FieldVector column, String path) {
    if (column.getField().getDictionary() != null) {
      throw mismatch(type, column, path);
    }
    return switch (type.getTypeName()) {
      case STRING -> {
        VarCharVector from = as(VarCharVector.class, type, column, path);
        yield index -> new String(bytes(from, index), UTF_8);
      }
      case BYTES -> {
        VarBinaryVector from = as(VarBinaryVector.class, type, column, path);
        yield index -> bytes(from, index);
      }
      case BOOLEAN -> {
        BitVector from = as(BitVector.class, type, column, path);
        yield index -> from.get(index) != 0;
      }
      case BYTE -> as(TinyIntVector.class, type, column, path)::get;
      case INT16 -> as(SmallIntVector.class, type, column, path)::get;
      case INT32 -> as(IntVector.class, type, column, path)::get;
      case INT64 -> as(BigIntVector.class, type, column, path)::get;
      case FLOAT -> as(Float4Vector.class, type, column, path)::get;
      case DOUBLE -> as(Float8Vector.class, type, column, path)::get;
      case DECIMAL -> {
        VarBinaryVector from = as(VarBinaryVector.class, type, column, path);
        yield index -> new BigDecimal(new String(bytes(from, index), UTF_8));
      }
      case DATETIME -> {
        BigIntVector from = as(BigIntVector.class, type, column, path);
        yield index -> instant(from.get(index));
      }
      case LOGICAL_TYPE -> ofLogical(type, column, path);
      case ARRAY, ITERABLE -> ofLists(type, column, path);
      case MAP -> ofMaps(type, as(MapVector.class, type, column, path), path);
      case ROW -> ofRows(type, as(StructVector.class, type, column, path), path);
      default -> throw mismatch(type, column, path);
    };
  }

  private static byte[] bytes(BaseVariableWidthVector from, int index) {
    if (from.getValueLength(index) > from.getDataBuffer().capacity()) {
      throw new IllegalArgumentException("'" + from.getName() + "' has a value that is not there");
    }
    return from instanceof VarCharVector text
        ? text.get(index)
        : ((VarBinaryVector) from).get(index);
  }

  private static ColumnReader ofLogical(FieldType type, FieldVector column, String path) {
    if (!PortableTypes.isPortable(type)) {
      throw mismatch(type, column, path);
    }
    if (!PortableTypes.isMicros(type)) {
      @SuppressWarnings("unchecked") // values are of the type's base
      LogicalType<Object, Object> logical = (LogicalType<Object, Object>) type.getLogicalType();
      ColumnReader base = ofValues(logical.getBaseType(), column, path);
      return index -> logical.toInputType(base.read(index));
    }
    BigIntVector from = as(BigIntVector.class, type, column, path);
    return index -> java.time.Instant.EPOCH.plus(from.get(index), ChronoUnit.MICROS);
  }

  private static ColumnReader ofLists(FieldType type, FieldVector column, String path) {
    FieldType item = type.getCollectionElementType();
    if (column instanceof BaseListVector lists && !(column instanceof MapVector)) {
      ListReader list = ListReader.of(item, column, path + "[]");
      return at -> list.read(lists.getElementStartIndex(at), lists.getElementEndIndex(at));
    }
    LargeListVector lists = as(LargeListVector.class, type, column, path);
    ListReader list = ListReader.of(item, column, path + "[]");
    return at ->
        list.read((int) lists.getElementStartIndex(at), (int) lists.getElementEndIndex(at));
  }

  private static ColumnReader ofMaps(FieldType type, MapVector column, String path) {
    List<FieldVector> both = column.getDataVector().getChildrenFromFields();
    ColumnReader keys = of(type.getMapKeyType(), both.get(0), path + ".key");
    ColumnReader values = of(type.getMapValueType(), both.get(1), path + ".value");
    return index -> {
      int end = column.getElementEndIndex(index);
      Map<Object, Object> map = new LinkedHashMap<>();
      for (int at = column.getElementStartIndex(index); at < end; at++) {
        map.put(keys.read(at), values.read(at));
      }
      return map;
    };
  }

  private static ColumnReader ofRows(FieldType type, StructVector column, String path) {
    Schema schema = type.getRowSchema();
    if (!column.getChildFieldNames().equals(schema.getFieldNames())) {
      throw mismatch(type, column, path);
    }
    ColumnReader[] fields = ofFields(schema, column.getChildrenFromFields(), path + ".");
    return index -> row(schema, fields, index);
  }

  /** Gives the readers of a schema's fields; there may be more columns. */
  static ColumnReader[] ofFields(Schema schema, List<FieldVector> columns, String path) {
    ColumnReader[] readers = new ColumnReader[schema.getFieldCount()];
    for (int field = 0; field < readers.length; field++) {
      Schema.Field of = schema.getField(field);
      readers[field] = of(of.getType(), columns.get(field), path + of.getName());
    }
    return readers;
  }

  static Row row(Schema schema, ColumnReader[] fields, int index) {
    Object[] values = new Object[fields.length];
    for (int field = 0; field < fields.length; field++) {
      values[field] = fields[field].read(index);
    }
    return Row.withSchema(schema).attachValues(Arrays.asList(values));
  }

  /** Java's event times are milliseconds: what is finer is cut off. */
  static Instant instant(long micros) {
    return Instant.ofEpochMilli(Math.floorDiv(micros, 1000L));
  }

  private static <V> V as(Class<V> vector, FieldType type, FieldVector column, String path) {
    if (!column.getClass().equals(vector)) {
      throw mismatch(type, column, path);
    }
    return vector.cast(column);
  }

  private static IllegalArgumentException mismatch(
      FieldType type, FieldVector column, String path) {
    return new IllegalArgumentException(
        "'"
            + path
            + "' is "
            + column.getField()
            + ", which is not of type "
            + PortableTypes.nameOf(type));
  }
}
