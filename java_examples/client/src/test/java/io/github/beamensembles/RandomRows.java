package io.github.beamensembles;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.FixedBytes;
import org.apache.beam.sdk.schemas.logicaltypes.FixedPrecisionNumeric;
import org.apache.beam.sdk.schemas.logicaltypes.NanosInstant;
import org.apache.beam.sdk.schemas.logicaltypes.SqlTypes;
import org.apache.beam.sdk.schemas.logicaltypes.VariableString;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Instant;

/** Schemas of portable types and rows of them, by chance but the same for the same seed. */
final class RandomRows {

  private static final EnumerationType COLOR = EnumerationType.create("red", "green");
  private static final List<FieldType> SCALARS =
      List.of(
          FieldType.STRING,
          FieldType.BYTES,
          FieldType.BOOLEAN,
          FieldType.BYTE,
          FieldType.INT16,
          FieldType.DATETIME,
          FieldType.DECIMAL,
          FieldType.logicalType(FixedPrecisionNumeric.of(30, 3)),
          FieldType.logicalType(SqlTypes.TIMESTAMP),
          FieldType.logicalType(new NanosInstant()),
          FieldType.logicalType(SqlTypes.DATE),
          FieldType.logicalType(SqlTypes.TIME),
          FieldType.logicalType(SqlTypes.DATETIME),
          FieldType.logicalType(COLOR),
          FieldType.logicalType(VariableString.of(300)),
          FieldType.logicalType(FixedBytes.of(4)),
          FieldType.INT32,
          FieldType.INT64,
          FieldType.FLOAT,
          FieldType.DOUBLE);
  private static final double[] DOUBLES = {
    0.0, -0.0, 1.5, Double.NaN, Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE
  };
  private static final String[] TEXTS = {"", "a", "ключ", "\u0000", "🙂🙂", "long ".repeat(40)};

  private final Random random;

  RandomRows(long seed) {
    random = new Random(seed);
  }

  Schema schema() {
    return schema(1 + random.nextInt(6), 3);
  }

  private Schema schema(int fields, int depth) {
    Schema.Builder schema = Schema.builder();
    for (int field = 0; field < fields; field++) {
      schema.addField("f" + field, type(depth));
    }
    return schema.build();
  }

  private FieldType type(int depth) {
    FieldType type =
        switch (depth == 0 ? 0 : random.nextInt(6)) {
          case 3 -> FieldType.array(type(depth - 1));
          case 4 -> FieldType.map(FieldType.STRING, type(depth - 1));
          case 5 -> FieldType.row(schema(random.nextInt(4), depth - 1));
          default -> SCALARS.get(random.nextInt(SCALARS.size()));
        };
    return type.withNullable(random.nextInt(3) == 0);
  }

  List<TimestampedValue<Row>> rows(Schema schema, int count) {
    return list(count, () -> TimestampedValue.of(row(schema), time()));
  }

  private Instant time() {
    return Instant.ofEpochMilli(random.nextLong() / 1000);
  }

  private Row row(Schema schema) {
    List<Object> values = new ArrayList<>();
    schema.getFields().forEach(field -> values.add(value(field.getType())));
    return Row.withSchema(schema).addValues(values).build();
  }

  private Object value(FieldType type) {
    if (type.getNullable() && random.nextInt(3) == 0) {
      return null;
    }
    return switch (type.getTypeName()) {
      case STRING -> TEXTS[random.nextInt(TEXTS.length)];
      case BYTES -> bytes();
      case BOOLEAN -> random.nextBoolean();
      case BYTE -> (byte) random.nextInt();
      case INT16 -> (short) random.nextInt();
      case DATETIME -> time();
      case DECIMAL -> BigDecimal.valueOf(random.nextLong(), random.nextInt(40) - 20);
      case LOGICAL_TYPE -> logical(type.getLogicalType().getIdentifier());
      case INT32 -> random.nextInt();
      case INT64 -> random.nextLong();
      case FLOAT -> (float) DOUBLES[random.nextInt(DOUBLES.length)];
      case DOUBLE -> DOUBLES[random.nextInt(DOUBLES.length)];
      case ARRAY -> list(random.nextInt(5), () -> value(type.getCollectionElementType()));
      case MAP -> map(type.getMapValueType());
      case ROW -> row(type.getRowSchema());
      default -> throw new AssertionError(type);
    };
  }

  private Object logical(String identifier) {
    java.time.Instant at = java.time.Instant.ofEpochSecond(random.nextInt(), random.nextInt(1000));
    LocalDate date = LocalDate.ofEpochDay(random.nextInt(100_000) - 50_000);
    LocalTime time = LocalTime.ofNanoOfDay(random.nextInt(Integer.MAX_VALUE));
    return switch (identifier) {
      case "beam:logical_type:micros_instant:v1" -> at.truncatedTo(ChronoUnit.MICROS);
      case "beam:logical_type:nanos_instant:v1" -> at;
      case "beam:logical_type:date:v1" -> date;
      case "beam:logical_type:time:v1" -> time;
      case "beam:logical_type:datetime:v1" -> LocalDateTime.of(date, time);
      case "beam:logical_type:fixed_decimal:v1" -> BigDecimal.valueOf(random.nextInt(), 3);
      case "beam:logical_type:var_char:v1" -> TEXTS[random.nextInt(TEXTS.length)];
      case "beam:logical_type:fixed_bytes:v1" -> new byte[] {1, 2, 3, -1};
      default -> COLOR.valueOf(random.nextInt(2));
    };
  }

  private byte[] bytes() {
    byte[] bytes = new byte[random.nextInt(20)];
    random.nextBytes(bytes);
    return bytes;
  }

  private Map<String, Object> map(FieldType type) {
    Map<String, Object> map = new HashMap<>();
    for (int key = random.nextInt(4); key > 0; key--) {
      map.put("key " + random.nextInt(9), value(type));
    }
    return map;
  }

  private static <T> List<T> list(int count, Supplier<T> item) {
    List<T> items = new ArrayList<>();
    for (int at = 0; at < count; at++) {
      items.add(item.get());
    }
    return items;
  }
}
