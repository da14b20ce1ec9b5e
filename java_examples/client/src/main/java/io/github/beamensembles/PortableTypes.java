package io.github.beamensembles;

import static java.util.stream.Collectors.joining;

import java.util.Locale;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;

/** The field types that mean the same in Java, Go and Python, and how types are called. */
final class PortableTypes {

  private PortableTypes() {}

  static boolean isPortable(Schema schema) {
    return schema.getFields().stream().allMatch(field -> isPortable(field.getType()));
  }

  static boolean isPortable(FieldType type) {
    return switch (type.getTypeName()) {
      case STRING, BYTES, BOOLEAN, INT32, INT64, FLOAT, DOUBLE -> true;
      case ARRAY -> isPortable(type.getCollectionElementType());
      case MAP -> isPortable(type.getMapKeyType()) && isPortable(type.getMapValueType());
      case ROW -> isPortable(type.getRowSchema());
      default -> false;
    };
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
      case LOGICAL_TYPE -> type.getLogicalType().getIdentifier();
      default -> type.getTypeName().name().toLowerCase(Locale.ROOT);
    };
  }
}
