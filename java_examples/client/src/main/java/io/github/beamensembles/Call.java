package io.github.beamensembles;

import io.github.beamensembles.testing.FakeEnsemble;
import org.apache.beam.sdk.coders.Coder;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.schemas.SchemaCoder;
import org.apache.beam.sdk.transforms.SerializableFunction;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionTuple;
import org.apache.beam.sdk.values.Row;

/**
 * A collection on its way to an ensemble: its elements as rows that the service understands.
 *
 * @param <K> the key; {@link Void} where the collection has none
 */
final class Call<K> {

  private final PCollection<Row> sent;
  private final Crossing<K> crossing;

  private Call(PCollection<Row> sent, Crossing<K> crossing) {
    this.sent = sent;
    this.crossing = crossing;
  }

  /** Takes any collection with a schema; rows of portable fields go as they are. */
  static <T> Call<Void> ofRows(PCollection<T> input) {
    SchemaCoder<T> coder = schemaCoder(input.getCoder());
    Crossing<Void> crossing = Crossing.ofRows(coder.getSchema());
    if (crossing.isDirect() && coder instanceof RowCoder) {
      @SuppressWarnings("unchecked") // a RowCoder encodes nothing but rows
      PCollection<Row> rows = (PCollection<Row>) input;
      return new Call<>(rows, crossing);
    }
    SerializableFunction<T, Row> toRow = coder.getToRowFunction();
    return send(input, crossing, element -> crossing.send(null, toRow.apply(element)));
  }

  /** Takes a keyed collection whose values have a schema. */
  static <K> Call<K> ofKeyedRows(PCollection<? extends KV<K, ?>> input) {
    @SuppressWarnings("unchecked") // nothing is put into the collection
    PCollection<KV<K, Object>> pairs = (PCollection<KV<K, Object>>) input;
    return ofPairs(pairs);
  }

  private static <K, V> Call<K> ofPairs(PCollection<KV<K, V>> input) {
    if (!(input.getCoder() instanceof KvCoder<K, V> pair)) {
      throw new IllegalArgumentException("keyed() takes pairs; the coder is " + input.getCoder());
    }
    SchemaCoder<V> coder = schemaCoder(pair.getValueCoder());
    Crossing<K> crossing = Crossing.ofKeyedRows(pair.getKeyCoder(), coder.getSchema());
    SerializableFunction<V, Row> toRow = coder.getToRowFunction();
    return send(input, crossing, it -> crossing.send(it.getKey(), toRow.apply(it.getValue())));
  }

  /** Puts the models into the pipeline; a row that fails, fails its bundle. */
  <T> Answer<K, T> ask(RunEnsemble ensemble, RowType<T> type) {
    return ask(ensemble, type, false);
  }

  /** Puts the models into the pipeline, with an output for the rows that fail. */
  <T> Answer<K, T> askWithErrors(RunEnsemble ensemble, RowType<T> type) {
    return ask(ensemble, type, true);
  }

  private <T> Answer<K, T> ask(RunEnsemble ensemble, RowType<T> type, boolean withErrors) {
    PipelineOptions options = sent.getPipeline().getOptions();
    RunnerCheck.check(options);
    PCollectionTuple received =
        FakeModels.of(ensemble, options)
            .map(fake -> askFake(fake, ensemble, type, withErrors))
            .orElseGet(() -> askService(ensemble, type, withErrors));
    return new Answer<>(received, crossing, type, ensemble.passThrough());
  }

  private PCollectionTuple askService(RunEnsemble ensemble, RowType<?> type, boolean withErrors) {
    Encoding encoding =
        Encoding.of(ensemble.encoding(), sent.getWindowingStrategy(), ArrowMemory::obstacle);
    Row config = ConfigRow.of(ensemble, crossing, type.schema(), withErrors, encoding);
    return Models.apply(config, ServiceAddress.of(ensemble), encoding, sent);
  }

  /** Rows do not cross to a fake, so both encodings are the same to it. */
  private PCollectionTuple askFake(
      FakeEnsemble<?, ?> fake, RunEnsemble ensemble, RowType<?> type, boolean withErrors) {
    return FakeModels.apply(fake, ensemble, crossing, type.schema(), withErrors, sent);
  }

  private static <T, K> Call<K> send(
      PCollection<T> input, Crossing<K> crossing, SerializableFunction<T, Row> toRow) {
    PCollection<Row> sent = input.apply("ToPortable", Mapped.by(toRow));
    return new Call<>(sent.setRowSchema(crossing.sentSchema()), crossing);
  }

  private static <T> SchemaCoder<T> schemaCoder(Coder<T> coder) {
    if (coder instanceof SchemaCoder<T> schemaCoder) {
      return RowType.withFields(schemaCoder);
    }
    String hint =
        coder instanceof KvCoder ? "; a keyed collection takes RunEnsemble's keyed()" : "";
    throw new IllegalArgumentException(
        "RunEnsemble takes rows, or a type with a schema; the coder is " + coder + hint);
  }
}
