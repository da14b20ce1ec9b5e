package io.github.beamensembles;

import static java.util.stream.Collectors.joining;

import java.util.Locale;
import java.util.Map;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.MicrosInstant;

/** The field types that mean the same in Java, Go and Python, and how types are called. */
final class PortableTypes {

  private static final String TIMESTAMP = "timestamp";

  /** What the service makes of Beam's logical types; it knows them by these identifiers. */
  private static final Map<String, String> LOGICAL_TYPES =
      Map.ofEntries(
          Map.entry(MicrosInstant.IDENTIFIER, TIMESTAMP),
          Map.entry("beam:logical_type:nanos_instant:v1", TIMESTAMP),
          Map.entry("beam:logical_type:date:v1", TIMESTAMP),
          Map.entry("beam:logical_type:time:v1", TIMESTAMP),
          Map.entry("beam:logical_type:datetime:v1", TIMESTAMP),
          Map.entry("beam:logical_type:var_char:v1", "string"),
          Map.entry("beam:logical_type:fixed_char:v1", "string"),
          Map.entry("beam:logical_type:var_bytes:v1", "bytes"),
          Map.entry("beam:logical_type:fixed_bytes:v1", "bytes"),
          Map.entry("beam:logical_type:fixed_decimal:v1", "decimal"),
          Map.entry(EnumerationType.IDENTIFIER, "string"));

  private PortableTypes() {}

  static boolean isPortable(Schema schema) {
    return schema.getFields().stream().allMatch(field -> isPortable(field.getType()));
  }

  static boolean isPortable(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING, BYTES, BOOLEAN, BYTE, INT16, INT32, INT64, FLOAT, DOUBLE, DECIMAL, DATETIME ->
          true;
      case LOGICAL_TYPE -> LOGICAL_TYPES.containsKey(type.getLogicalType().getIdentifier());
      case ARRAY -> isPortable(type.getCollectionElementType());
      case MAP -> isKey(type.getMapKeyType()) && isPortable(type.getMapValueType());
      case ROW -> isPortable(type.getRowSchema());
      default -> false;
    };
  }

  private static boolean isKey(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING, BYTES, BOOLEAN, BYTE, INT16, INT32, INT64, FLOAT, DOUBLE -> true;
      default -> false;
    };
  }

  /**
   * Gives the type of the values in a column of a record batch: whole microseconds for a point in
   * time, the bytes of a decimal's text, else the base type of a logical type.
   */
  static FieldType inColumns(FieldType type) {
    FieldType values =
        switch (type.getTypeName()) {
          case DATETIME -> FieldType.INT64;
          case DECIMAL -> FieldType.BYTES;
          case LOGICAL_TYPE ->
              isMicros(type) ? FieldType.INT64 : inColumns(type.getLogicalType().getBaseType());
          default -> type;
        };
    return values.withNullable(FieldTypes.isNullable(type));
  }

  static boolean isMicros(FieldType type) {
    return type.getTypeName().isLogicalType()
        && type.getLogicalType().getIdentifier().equals(MicrosInstant.IDENTIFIER);
  }

  /** Names a type as the ensemble file would; a type of Java's own keeps Beam's name for it. */
  static String nameOf(FieldType type) {
    return nameOfValue(type) + (FieldTypes.isNullable(type) ? "?" : "");
  }

  private static String nameOfValue(FieldType type) {
    return switch (type.getTypeName()) {
      case ARRAY -> "array<" + nameOf(type.getCollectionElementType()) + ">";
      case ITERABLE -> "iterable<" + nameOf(type.getCollectionElementType()) + ">";
      case MAP ->
          "map<" + nameOf(type.getMapKeyType()) + "," + nameOf(type.getMapValueType()) + ">";
      case ROW ->
          type.getRowSchema().getFields().stream()
              .map(field -> field.getName() + ": " + nameOf(field.getType()))
              .collect(joining(", ", "row<", ">"));
      case DATETIME -> TIMESTAMP;
      case LOGICAL_TYPE -> {
        String identifier = type.getLogicalType().getIdentifier();
        yield LOGICAL_TYPES.getOrDefault(identifier, identifier);
      }
      default -> type.getTypeName().name().toLowerCase(Locale.ROOT);
    };
  }
}
