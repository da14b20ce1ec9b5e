package io.github.beamensembles;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;

/** The columns of the record batches in which rows of a schema cross. */
final class ArrowSchema {

  /** After the fields: each row's event time, microseconds since the epoch. */
  static final String EVENT_TIME = "__event_time";

  private ArrowSchema() {}

  static org.apache.arrow.vector.types.pojo.Schema of(Schema schema) {
    List<Field> columns = new ArrayList<>(fields(schema));
    columns.add(field(EVENT_TIME, FieldType.INT64));
    return new org.apache.arrow.vector.types.pojo.Schema(columns);
  }

  private static List<Field> fields(Schema schema) {
    return schema.getFields().stream().map(it -> field(it.getName(), it.getType())).toList();
  }

  private static Field field(String name, FieldType field) {
    FieldType type = PortableTypes.inColumns(field);
    return field(name, FieldTypes.isNullable(type), arrowType(type), children(type));
  }

  private static Field field(String name, boolean nullable, ArrowType type, List<Field> children) {
    return new Field(
        name, new org.apache.arrow.vector.types.pojo.FieldType(nullable, type, null), children);
  }

  private static ArrowType arrowType(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING -> ArrowType.Utf8.INSTANCE;
      case BYTES -> ArrowType.Binary.INSTANCE;
      case BOOLEAN -> ArrowType.Bool.INSTANCE;
      case BYTE -> new ArrowType.Int(8, true);
      case INT16 -> new ArrowType.Int(16, true);
      case INT32 -> new ArrowType.Int(32, true);
      case INT64 -> new ArrowType.Int(64, true);
      case FLOAT -> new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
      case DOUBLE -> new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
      case ARRAY -> ArrowType.List.INSTANCE;
      case MAP -> new ArrowType.Map(false);
      case ROW -> ArrowType.Struct.INSTANCE;
      default -> throw new IllegalArgumentException(PortableTypes.nameOf(type) + " cannot cross");
    };
  }

  private static List<Field> children(FieldType type) {
    return switch (type.getTypeName()) {
      case ARRAY -> List.of(field("item", type.getCollectionElementType()));
      case MAP -> List.of(entries(type));
      case ROW -> fields(type.getRowSchema());
      default -> List.of();
    };
  }

  /** Arrow's maps have no null keys. */
  private static Field entries(FieldType map) {
    Field key = field("key", map.getMapKeyType().withNullable(false));
    Field value = field("value", map.getMapValueType());
    return field("entries", false, ArrowType.Struct.INSTANCE, List.of(key, value));
  }
}
