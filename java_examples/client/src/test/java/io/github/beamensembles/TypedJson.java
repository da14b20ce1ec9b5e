package io.github.beamensembles;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.values.Row;

/** Values of Beam's types in JSON: bytes are Base64, NaN and the infinities are texts. */
final class TypedJson {

  private TypedJson() {}

  /** Reads a value of a type. */
  static Object value(FieldType type, JsonNode json) {
    if (json.isNull()) {
      return null;
    }
    return switch (type.getTypeName()) {
      case INT32 -> json.intValue();
      case INT64 -> json.longValue();
      case FLOAT -> Float.valueOf(json.asText());
      case DOUBLE -> Double.valueOf(json.asText());
      case BOOLEAN -> json.booleanValue();
      case BYTES -> bytes(json);
      case ARRAY -> {
        List<Object> items = new ArrayList<>();
        json.forEach(item -> items.add(value(type.getCollectionElementType(), item)));
        yield items;
      }
      case MAP -> {
        Map<String, Object> entries = new HashMap<>();
        json.fields()
            .forEachRemaining(
                entry ->
                    entries.put(entry.getKey(), value(type.getMapValueType(), entry.getValue())));
        yield entries;
      }
      case ROW -> row(type.getRowSchema(), json);
      case STRING -> json.textValue();
      default -> throw new AssertionError(type);
    };
  }

  /** Reads a row of a schema. */
  static Row row(Schema schema, JsonNode json) {
    List<Object> values = new ArrayList<>();
    for (Schema.Field field : schema.getFields()) {
      values.add(value(field.getType(), json.get(field.getName())));
    }
    return Row.withSchema(schema).addValues(values).build();
  }

  private static byte[] bytes(JsonNode json) {
    try {
      return json.binaryValue();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Says whether a value is of a type, and the one that is wanted. Numbers of floating point may
   * differ by a part of them, or of 1 where that is more; all else is equal.
   */
  static boolean isThat(FieldType type, Object wanted, Object found, double tolerance) {
    if (wanted == null || found == null) {
      return type.getNullable() && wanted == found;
    }
    return switch (type.getTypeName()) {
      case INT32 -> found instanceof Integer && found.equals(wanted);
      case INT64 -> found instanceof Long && found.equals(wanted);
      case FLOAT -> found instanceof Float number && isNear((Float) wanted, number, tolerance);
      case DOUBLE -> found instanceof Double number && isNear((Double) wanted, number, tolerance);
      case BOOLEAN -> found instanceof Boolean && found.equals(wanted);
      case STRING -> found instanceof String && found.equals(wanted);
      case BYTES -> found instanceof byte[] bytes && Arrays.equals(bytes, (byte[]) wanted);
      case ARRAY ->
          found instanceof Collection<?> items
              && areThose(
                  type.getCollectionElementType(), (Collection<?>) wanted, items, tolerance);
      case MAP ->
          found instanceof Map<?, ?> entries
              && areThose(type.getMapValueType(), (Map<?, ?>) wanted, entries, tolerance);
      case ROW -> found instanceof Row row && isThat((Row) wanted, row, tolerance);
      default -> false;
    };
  }

  private static boolean isNear(double wanted, double found, double tolerance) {
    return Double.compare(wanted, found) == 0
        || wanted == found
        || Math.abs(wanted - found) <= tolerance * Math.max(1, Math.abs(wanted));
  }

  private static boolean areThose(
      FieldType type, Collection<?> wanted, Collection<?> found, double tolerance) {
    Iterator<?> others = wanted.iterator();
    return wanted.size() == found.size()
        && found.stream().allMatch(item -> isThat(type, others.next(), item, tolerance));
  }

  private static boolean areThose(
      FieldType type, Map<?, ?> wanted, Map<?, ?> found, double tolerance) {
    return wanted.keySet().equals(found.keySet())
        && found.entrySet().stream()
            .allMatch(it -> isThat(type, wanted.get(it.getKey()), it.getValue(), tolerance));
  }

  private static boolean isThat(Row wanted, Row found, double tolerance) {
    return wanted.getSchema().getFieldNames().equals(found.getSchema().getFieldNames())
        && wanted.getSchema().getFields().stream()
            .allMatch(
                field ->
                    isThat(
                        field.getType(),
                        wanted.getValue(field.getName()),
                        found.getValue(field.getName()),
                        tolerance));
  }
}
