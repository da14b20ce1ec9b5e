package io.github.beamensembles;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.Field;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.MicrosInstant;
import org.apache.beam.sdk.values.Row;
import org.joda.time.ReadableInstant;

/** What becomes of Java's values on their way to an ensemble and back, as the service does it. */
final class CrossedValues {

  private static final FieldType TIMESTAMP = FieldType.logicalType(new MicrosInstant());

  private CrossedValues() {}

  /** Returns the type in which an ensemble reads values of a portable type, and gives them. */
  static FieldType crossed(FieldType type) {
    FieldType plain =
        switch (type.getTypeName()) {
          case BYTE, INT16 -> FieldType.INT32;
          case DECIMAL -> FieldType.STRING;
          case DATETIME -> TIMESTAMP;
          case ARRAY -> FieldType.array(crossed(type.getCollectionElementType()));
          case MAP -> FieldType.map(crossed(type.getMapKeyType()), crossed(type.getMapValueType()));
          case ROW -> FieldType.row(crossed(type.getRowSchema()));
          case LOGICAL_TYPE -> crossedLogical(type);
          default -> type;
        };
    return plain.withNullable(FieldTypes.isNullable(type));
  }

  private static Schema crossed(Schema schema) {
    return new Schema(
        schema.getFields().stream()
            .map(field -> Field.of(field.getName(), crossed(field.getType())))
            .toList());
  }

  private static FieldType crossedLogical(FieldType type) {
    return switch (PortableTypes.nameOf(type.withNullable(false))) {
      case "timestamp" -> TIMESTAMP;
      case "bytes" -> FieldType.BYTES;
      default -> FieldType.STRING;
    };
  }

  /** Whether an ensemble that declares {@code wanted} reads {@code found}; nulls are the rows'. */
  static boolean feeds(FieldType found, FieldType wanted) {
    FieldType from = crossed(found);
    FieldType to = crossed(wanted);
    if (from.getTypeName() != to.getTypeName()) {
      return widens(from, to);
    }
    return switch (to.getTypeName()) {
      case ARRAY -> feeds(from.getCollectionElementType(), to.getCollectionElementType());
      case MAP ->
          feeds(from.getMapKeyType(), to.getMapKeyType())
              && feeds(from.getMapValueType(), to.getMapValueType());
      case ROW -> feeds(from.getRowSchema(), to.getRowSchema());
      default -> true;
    };
  }

  private static boolean feeds(Schema found, Schema wanted) {
    if (found.getFieldCount() != wanted.getFieldCount()
        || !found.getFieldNames().containsAll(wanted.getFieldNames())) {
      return false;
    }
    return found.getFields().stream()
        .allMatch(field -> feeds(field.getType(), wanted.getField(field.getName()).getType()));
  }

  /**
   * Returns a type with the fields of rows in it in the order of another type, where it has them.
   */
  static FieldType inOrderOf(FieldType other, FieldType type) {
    if (type.getTypeName() != other.getTypeName()) {
      return type;
    }
    FieldType ordered =
        switch (type.getTypeName()) {
          case ARRAY ->
              FieldType.array(
                  inOrderOf(other.getCollectionElementType(), type.getCollectionElementType()));
          case MAP ->
              FieldType.map(
                  type.getMapKeyType(), inOrderOf(other.getMapValueType(), type.getMapValueType()));
          case ROW -> FieldType.row(inOrderOf(other.getRowSchema(), type.getRowSchema()));
          default -> type;
        };
    return ordered.withNullable(FieldTypes.isNullable(type));
  }

  private static Schema inOrderOf(Schema other, Schema schema) {
    if (schema.getFieldCount() != other.getFieldCount()
        || !schema.getFieldNames().containsAll(other.getFieldNames())) {
      return schema;
    }
    return new Schema(
        other.getFields().stream()
            .map(
                field -> {
                  FieldType type = schema.getField(field.getName()).getType();
                  return Field.of(field.getName(), inOrderOf(field.getType(), type));
                })
            .toList());
  }

  private static boolean widens(FieldType found, FieldType wanted) {
    return switch (wanted.getTypeName()) {
      case INT64 -> found.getTypeName() == Schema.TypeName.INT32;
      case DOUBLE ->
          switch (found.getTypeName()) {
            case INT32, INT64, FLOAT -> true;
            default -> false;
          };
      default -> false;
    };
  }

  /** Returns a value as one of another type, which {@link #feeds} or {@link #crossed} allowed. */
  static Object as(FieldType to, Object value, FieldType from) {
    if (value == null || from.equals(to)) {
      return value;
    }
    return switch (to.getTypeName()) {
      case BYTE -> ((Number) value).byteValue();
      case INT16 -> ((Number) value).shortValue();
      case INT32 -> ((Number) value).intValue();
      case INT64 -> ((Number) value).longValue();
      case DOUBLE -> ((Number) value).doubleValue();
      case STRING -> text(value, from);
      case DECIMAL -> value instanceof BigDecimal ? value : new BigDecimal((String) value);
      case DATETIME -> org.joda.time.Instant.ofEpochMilli(instant(value).toEpochMilli());
      case ARRAY -> items((Collection<?>) value, from, to);
      case MAP -> entries((Map<?, ?>) value, from, to);
      case ROW -> row((Row) value, to.getRowSchema());
      case LOGICAL_TYPE ->
          crossed(to.withNullable(false)).equals(TIMESTAMP) ? instantOf(to, value) : value;
      default -> value;
    };
  }

  private static String text(Object value, FieldType from) {
    if (value instanceof EnumerationType.Value choice) {
      return from.getLogicalType(EnumerationType.class).toString(choice);
    }
    return value instanceof BigDecimal number ? number.toPlainString() : value.toString();
  }

  private static Instant instant(Object value) {
    if (value instanceof ReadableInstant joda) {
      return Instant.ofEpochMilli(joda.getMillis());
    } else if (value instanceof LocalDate day) {
      return day.atStartOfDay().toInstant(ZoneOffset.UTC);
    } else if (value instanceof LocalTime time) {
      return time.atDate(LocalDate.EPOCH).toInstant(ZoneOffset.UTC);
    } else if (value instanceof LocalDateTime both) {
      return both.toInstant(ZoneOffset.UTC);
    }
    return (Instant) value;
  }

  private static Object instantOf(FieldType to, Object value) {
    Instant instant = instant(value).truncatedTo(ChronoUnit.MICROS);
    LocalDateTime inUtc = LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
    return switch (to.getLogicalType().getIdentifier()) {
      case "beam:logical_type:date:v1" -> inUtc.toLocalDate();
      case "beam:logical_type:time:v1" -> inUtc.toLocalTime();
      case "beam:logical_type:datetime:v1" -> inUtc;
      default -> instant;
    };
  }

  private static List<Object> items(Collection<?> values, FieldType from, FieldType to) {
    List<Object> items = new ArrayList<>(values.size());
    for (Object value : values) {
      items.add(as(to.getCollectionElementType(), value, from.getCollectionElementType()));
    }
    return items;
  }

  private static Map<Object, Object> entries(Map<?, ?> values, FieldType from, FieldType to) {
    Map<Object, Object> entries = new LinkedHashMap<>();
    values.forEach(
        (key, value) ->
            entries.put(
                as(to.getMapKeyType(), key, from.getMapKeyType()),
                as(to.getMapValueType(), value, from.getMapValueType())));
    return entries;
  }

  private static Row row(Row value, Schema to) {
    List<Object> values = new ArrayList<>(to.getFieldCount());
    for (Field field : to.getFields()) {
      FieldType from = value.getSchema().getField(field.getName()).getType();
      values.add(as(field.getType(), value.getValue(field.getName()), from));
    }
    return Row.withSchema(to).attachValues(values);
  }
}
