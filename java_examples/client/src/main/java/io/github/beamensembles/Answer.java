package io.github.beamensembles;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.Field;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.SerializableFunction;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionTuple;
import org.apache.beam.sdk.values.Row;

/**
 * What the service put into the pipeline: scored rows, and failed ones where they were asked for.
 *
 * @param <K> the key; {@link Void} where the collection has none
 * @param <T> what a scored row becomes
 */
final class Answer<K, T> {

  static final String OUTPUT = "output";
  static final String ERRORS = "errors";

  private static final String ELEMENT = "element";

  private final PCollection<Row> output;
  private final PCollectionTuple received;
  private final Crossing<K> crossing;
  private final RowType<T> type;
  private final Schema scored;

  Answer(
      PCollectionTuple received,
      Crossing<K> crossing,
      RowType<T> type,
      Optional<List<String>> passThrough) {
    this.received = received;
    this.crossing = crossing;
    this.type = type;
    this.output = received.get(RunEnsemble.OUTPUT_TAG);
    this.scored = type.schema().orElseGet(() -> crossing.restored(output.getSchema(), passThrough));
  }

  PCollection<T> scored() {
    if (crossing.isDirect() && type.isRow()) {
      @SuppressWarnings("unchecked") // T is Row
      PCollection<T> rows = (PCollection<T>) output;
      return rows;
    }
    SerializableFunction<Row, KV<K, T>> restore = restoreScored();
    return output
        .apply("FromPortable", Mapped.by((Row row) -> restore.apply(row).getValue()))
        .setCoder(type.coder(scored));
  }

  PCollection<KV<K, T>> keyedScored() {
    return output
        .apply("FromPortable", Mapped.by(restoreScored()))
        .setCoder(KvCoder.of(crossing.keyCoder(), type.coder(scored)));
  }

  PCollection<Row> failed() {
    PCollection<Row> failed = received.get(RunEnsemble.ERRORS_TAG);
    if (crossing.isDirect()) {
      return failed;
    }
    Schema schema = failedSchema(failed.getSchema());
    SerializableFunction<Row, KV<K, Row>> restore = restoreFailed(schema);
    return failed
        .apply("ErrorsFromPortable", Mapped.by((Row row) -> restore.apply(row).getValue()))
        .setRowSchema(schema);
  }

  PCollection<KV<K, Row>> keyedFailed() {
    PCollection<Row> failed = received.get(RunEnsemble.ERRORS_TAG);
    Schema schema = failedSchema(failed.getSchema());
    return failed
        .apply("ErrorsFromPortable", Mapped.by(restoreFailed(schema)))
        .setCoder(KvCoder.of(crossing.keyCoder(), RowCoder.of(schema)));
  }

  // The functions run on workers: they hold what they need and not this object.

  private SerializableFunction<Row, KV<K, T>> restoreScored() {
    Crossing<K> way = crossing;
    Schema to = scored;
    SerializableFunction<Row, T> fromRow = type.fromRow();
    return row -> {
      KV<K, Row> restored = way.restore(row, to);
      return KV.of(restored.getKey(), fromRow.apply(restored.getValue()));
    };
  }

  private SerializableFunction<Row, KV<K, Row>> restoreFailed(Schema schema) {
    Crossing<K> way = crossing;
    Schema to = schema.getField(ELEMENT).getType().getRowSchema();
    int place = schema.indexOf(ELEMENT);
    return row -> {
      KV<K, Row> element = way.restore(row.getRow(place), to);
      List<Object> values = new ArrayList<>(row.getValues());
      values.set(place, element.getValue());
      return KV.of(element.getKey(), Row.withSchema(schema).attachValues(values));
    };
  }

  private Schema failedSchema(Schema received) {
    Schema.Builder fields = Schema.builder();
    for (Field field : received.getFields()) {
      fields.addField(field.getName().equals(ELEMENT) ? restoredElement(field) : field);
    }
    return fields.build();
  }

  private Field restoredElement(Field element) {
    Schema row = crossing.restored(element.getType().getRowSchema(), Optional.empty());
    return element.withType(
        FieldType.row(row).withNullable(FieldTypes.isNullable(element.getType())));
  }
}
