package io.github.beamensembles;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.Schema.TypeName;
import org.apache.beam.sdk.values.Row;

/** The bytes that one row takes in a record batch, up to a few bits; chosen once, by the schema. */
final class RowSize implements ToLongFunction<Row> {

  /** Where text, bytes or items of a list start. */
  private static final int OFFSET = 4;

  private final long fixed;
  private final List<Variable> variables = new ArrayList<>();

  /** A field whose values are not all of one size. */
  private record Variable(int field, ToLongFunction<Object> size) {}

  private RowSize(Schema schema) {
    long sum = 0;
    for (int field = 0; field < schema.getFieldCount(); field++) {
      FieldType type = schema.getField(field).getType();
      sum += fixedSize(type);
      if (isVariable(type)) {
        variables.add(new Variable(field, variableSize(type)));
      }
    }
    this.fixed = sum;
  }

  static RowSize of(Schema schema) {
    return new RowSize(schema);
  }

  @Override
  public long applyAsLong(Row row) {
    long size = fixed;
    for (Variable variable : variables) {
      Object value = row.getValue(variable.field);
      size += value == null ? 0 : variable.size.applyAsLong(value);
    }
    return size;
  }

  private static boolean isVariable(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING, BYTES, DECIMAL, ARRAY, MAP, ROW -> true;
      case LOGICAL_TYPE -> isText(type.getLogicalType().getBaseType());
      default -> false;
    };
  }

  private static boolean isText(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING, BYTES, DECIMAL -> true;
      default -> false;
    };
  }

  private static int fixedSize(FieldType field) {
    FieldType type = PortableTypes.inColumns(field);
    if (field.getTypeName().isLogicalType() && type.getTypeName() == TypeName.ROW) {
      return type.getRowSchema().getFields().stream().mapToInt(it -> fixedSize(it.getType())).sum();
    }
    return switch (type.getTypeName()) {
      case INT64, DOUBLE -> 8;
      case BOOLEAN, BYTE -> 1;
      case INT16 -> 2;
      case ROW -> 0;
      default -> OFFSET; // int32 and float have as many bytes
    };
  }

  /** The size beyond the fixed one. */
  private static ToLongFunction<Object> variableSize(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING -> value -> textSize((String) value);
      case BYTES -> value -> ((byte[]) value).length;
      case DECIMAL -> value -> value.toString().length();
      case ARRAY -> listSize(type.getCollectionElementType());
      case MAP -> mapSize(type);
      case LOGICAL_TYPE -> variableSize(type.getLogicalType().getBaseType());
      case ROW -> {
        RowSize row = of(type.getRowSchema());
        yield value -> row.applyAsLong((Row) value);
      }
      default -> value -> 0;
    };
  }

  private static ToLongFunction<Object> listSize(FieldType item) {
    int fixed = fixedSize(item);
    if (!isVariable(item)) {
      return value -> (long) fixed * ((Collection<?>) value).size();
    }
    ToLongFunction<Object> size = variableSize(item);
    return value -> sum((Collection<?>) value, fixed, size);
  }

  private static ToLongFunction<Object> mapSize(FieldType type) {
    ToLongFunction<Object> keys = listSize(type.getMapKeyType());
    ToLongFunction<Object> values = listSize(type.getMapValueType());
    return value -> {
      Map<?, ?> map = (Map<?, ?>) value;
      return keys.applyAsLong(map.keySet()) + values.applyAsLong(map.values());
    };
  }

  private static long sum(Collection<?> items, int fixed, ToLongFunction<Object> size) {
    long sum = (long) fixed * items.size();
    for (Object item : items) {
      sum += item == null ? 0 : size.applyAsLong(item);
    }
    return sum;
  }

  /** The bytes in UTF-8; half a surrogate pair, which is not valid there, counts for two. */
  private static long textSize(String text) {
    long size = text.length();
    for (int index = 0; index < text.length(); index++) {
      char unit = text.charAt(index);
      if (unit >= 0x80) {
        size += unit < 0x800 || Character.isSurrogate(unit) ? 1 : 2;
      }
    }
    return size;
  }
}
