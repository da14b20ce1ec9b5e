package io.github.beamensembles;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.beam.sdk.coders.Coder;
import org.apache.beam.sdk.coders.CoderException;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.VoidCoder;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.Field;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.util.CoderUtils;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.Row;

/**
 * How the rows of one collection, and their keys, travel to the service and back.
 *
 * <p>Fields that mean the same in every language are columns of the row that is sent. The key and
 * the fields of Java's own types travel beside them in one column of bytes that nobody else reads,
 * and are put back in their places afterwards.
 *
 * @param <K> the key; {@link Void} where the collection has none
 */
final class Crossing<K> implements Serializable {

  static final String OPAQUE_COLUMN = "__opaque";

  private final Schema schema;
  private final Schema portable;
  private final Schema opaque;
  private final Schema sent;
  private final Coder<K> keyCoder;
  private final Coder<KV<K, Row>> opaqueCoder;
  private final boolean direct;

  private Crossing(Schema schema, Coder<K> keyCoder, boolean keyed) {
    if (schema.hasField(OPAQUE_COLUMN)) {
      throw new IllegalArgumentException(
          "a field named '" + OPAQUE_COLUMN + "' cannot be sent: the name is used by RunEnsemble");
    }
    this.schema = schema;
    this.keyCoder = keyCoder;
    this.portable = select(schema, field -> PortableTypes.isPortable(field.getType()));
    this.opaque = select(schema, field -> !PortableTypes.isPortable(field.getType()));
    this.opaqueCoder = KvCoder.of(keyCoder, RowCoder.of(opaque));
    this.direct = !keyed && opaque.getFieldCount() == 0;
    this.sent = direct ? schema : withOpaqueColumn(portable);
  }

  static Crossing<Void> ofRows(Schema schema) {
    return new Crossing<>(schema, VoidCoder.of(), false);
  }

  static <K> Crossing<K> ofKeyedRows(Coder<K> keyCoder, Schema schema) {
    return new Crossing<>(schema, keyCoder, true);
  }

  Coder<K> keyCoder() {
    return keyCoder;
  }

  /** Whether the rows can be sent as they are. */
  boolean isDirect() {
    return direct;
  }

  Schema sentSchema() {
    return sent;
  }

  /** The fields that no model can read, with the names of their types. */
  Map<String, String> opaqueTypes() {
    Map<String, String> types = new TreeMap<>();
    opaque.getFields().forEach(it -> types.put(it.getName(), PortableTypes.nameOf(it.getType())));
    return types;
  }

  /** Of the fields that the caller keeps, those that the service knows. */
  List<String> asked(List<String> passThrough) {
    Stream<String> known = passThrough.stream().filter(name -> !opaque.hasField(name));
    return (direct ? known : Stream.concat(known, Stream.of(OPAQUE_COLUMN))).toList();
  }

  /** Of the fields of the caller's own type, those that the service is to give. */
  Schema asked(Schema wanted) {
    List<Problem> problems =
        wanted.getFields().stream().flatMap(field -> mismatch(field).stream()).toList();
    if (!problems.isEmpty()) {
      throw EnsembleException.of("the scored rows do not fit the type that they become", problems);
    }
    Schema given = select(wanted, field -> !opaque.hasField(field.getName()));
    return direct ? given : withOpaqueColumn(given);
  }

  /** Of the caller's own fields, those that the service does not know can only be checked here. */
  private Optional<Problem> mismatch(Field wanted) {
    String type = PortableTypes.nameOf(wanted.getType());
    if (!opaque.hasField(wanted.getName())) {
      return PortableTypes.isPortable(wanted.getType())
          ? Optional.empty()
          : Optional.of(mismatch(wanted, "no model gives a " + type + ", and no field is one"));
    }
    String found = PortableTypes.nameOf(opaque.getField(wanted.getName()).getType());
    return type.equals(found) || type.equals(found + "?")
        ? Optional.empty()
        : Optional.of(mismatch(wanted, "the field is " + found + ", the type wants " + type));
  }

  private static Problem mismatch(Field wanted, String message) {
    return new Problem("output_schema_mismatch", "output_schema." + wanted.getName(), message);
  }

  /** What the received rows become: the caller's own fields in their order, then the added ones. */
  Schema restored(Schema received, Optional<List<String>> passThrough) {
    Schema.Builder fields = Schema.builder();
    for (Field field : schema.getFields()) {
      String name = field.getName();
      boolean kept = passThrough.map(names -> names.contains(name)).orElse(true);
      if (opaque.hasField(name) && kept) {
        fields.addField(unhidden(field, received));
      } else if (portable.hasField(name) && received.hasField(name)) {
        fields.addField(received.getField(name));
      }
    }
    received.getFields().stream().filter(this::isAdded).forEach(fields::addField);
    return fields.build();
  }

  private boolean isAdded(Field received) {
    return !portable.hasField(received.getName()) && !received.getName().equals(OPAQUE_COLUMN);
  }

  private static Field unhidden(Field own, Schema received) {
    if (received.hasField(own.getName())) {
      throw EnsembleException.of(
          "the ensemble would hide a field",
          List.of(
              new Problem(
                  "column_exists",
                  "outputs." + own.getName(),
                  "the rows have such a field already; rename the column, or give a prefix")));
    }
    return own;
  }

  Row send(K key, Row row) {
    if (direct) {
      return row;
    }
    List<Object> values = values(row, portable);
    values.add(encode(KV.of(key, Row.withSchema(opaque).attachValues(values(row, opaque)))));
    return Row.withSchema(sent).attachValues(values);
  }

  /**
   * Puts key and fields back; {@code to} is a schema that {@link #restored} gave or the caller's.
   */
  KV<K, Row> restore(Row received, Schema to) {
    KV<K, Row> own = direct ? KV.of(null, null) : decode(received.getBytes(OPAQUE_COLUMN));
    List<Object> values = new ArrayList<>(to.getFieldCount());
    for (Field field : to.getFields()) {
      Row from = opaque.hasField(field.getName()) ? own.getValue() : received;
      values.add(from.getValue(field.getName()));
    }
    return KV.of(own.getKey(), Row.withSchema(to).attachValues(values));
  }

  private byte[] encode(KV<K, Row> own) {
    try {
      return CoderUtils.encodeToByteArray(opaqueCoder, own);
    } catch (CoderException e) {
      throw new IllegalArgumentException(
          "the key, or a field of " + opaqueTypes() + ", cannot be encoded: " + e.getMessage(), e);
    }
  }

  private KV<K, Row> decode(byte[] own) {
    try {
      return CoderUtils.decodeFromByteArray(opaqueCoder, own);
    } catch (CoderException e) {
      throw new IllegalStateException("what RunEnsemble encoded came back changed", e);
    }
  }

  private static Schema select(Schema schema, Predicate<Field> wanted) {
    return new Schema(schema.getFields().stream().filter(wanted).toList());
  }

  private static Schema withOpaqueColumn(Schema schema) {
    return Schema.builder()
        .addFields(schema.getFields())
        .addField(OPAQUE_COLUMN, FieldType.BYTES)
        .build();
  }

  private static List<Object> values(Row row, Schema fields) {
    List<Object> values = new ArrayList<>(fields.getFieldCount() + 1);
    fields.getFields().forEach(field -> values.add(row.getValue(field.getName())));
    return values;
  }
}
