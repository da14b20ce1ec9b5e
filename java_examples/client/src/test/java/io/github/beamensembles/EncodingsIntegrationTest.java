package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.SerializableCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.runners.TransformHierarchy;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.Flatten;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.GlobalWindows;
import org.apache.beam.sdk.transforms.windowing.Sessions;
import org.apache.beam.sdk.transforms.windowing.SlidingWindows;
import org.apache.beam.sdk.transforms.windowing.Window;
import org.apache.beam.sdk.transforms.windowing.WindowFn;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionList;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.joda.time.Duration;
import org.joda.time.Instant;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** The same rows give the same answers, whichever way they cross: on real Prism, by the service. */
@RunWith(JUnit4.class)
public class EncodingsIntegrationTest implements Serializable {

  private static final int ROWS = 800;
  private static final int MORE_THAN_A_BATCH = RowBatch.MAX_ROWS + 500;

  private static final RunEnsemble AVERAGE =
      RunEnsemble.fromText(
          """
          ensemble: average
          inputs: {a: double, b: double}
          nodes:
            both: {combine: mean, inputs: [a, b], outputs: {average: double}}
          """,
          "/");

  private static final Schema INNER =
      Schema.builder().addNullableStringField("note").addArrayField("xs", FieldType.INT32).build();

  /** Every kind of field. */
  private static final Schema SCHEMA =
      Schema.builder()
          .addInt64Field("id")
          .addNullableField("a", FieldType.DOUBLE)
          .addDoubleField("b")
          .addNullableStringField("text")
          .addByteArrayField("bytes")
          .addBooleanField("flag")
          .addInt32Field("count")
          .addFloatField("share")
          .addArrayField("pixels", FieldType.DOUBLE)
          .addArrayField("texts", FieldType.STRING.withNullable(true))
          .addMapField("map", FieldType.STRING, FieldType.FLOAT.withNullable(true))
          .addRowField("inner", INNER)
          .addNullableRowField("other", INNER)
          .addArrayField("inners", FieldType.row(INNER))
          .addDecimalField("price")
          .addDateTimeField("seen")
          .build();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  private static Row inner(int id) {
    return Row.withSchema(INNER)
        .addValues(id % 4 == 0 ? null : "note " + id, id % 3 == 0 ? List.of() : List.of(id, -id))
        .build();
  }

  /** Each tenth row has no {@code a} and cannot be scored. */
  private static Row row(int id) {
    List<Object> values =
        Arrays.asList(
            (long) id,
            id % 10 == 9 ? null : id / 4.0,
            id / 2.0,
            id % 5 == 0 ? null : "текст " + id,
            new byte[] {(byte) id, 0, -1},
            id % 2 == 0,
            -id,
            id / 8f,
            List.of(id / 4.0, Double.NaN, -0.0),
            Arrays.asList("t" + id, null),
            id % 2 == 0 ? Map.of() : Map.of("k", id / 2f),
            inner(id),
            id % 3 == 0 ? null : inner(id),
            id % 7 == 0 ? List.of() : List.of(inner(id), inner(id + 1)),
            new BigDecimal(id).movePointLeft(3),
            Instant.ofEpochMilli(id));
    return Row.withSchema(SCHEMA).addValues(values).build();
  }

  private PCollection<Row> rows(int count) {
    List<TimestampedValue<Row>> rows = new ArrayList<>();
    for (int id = 0; id < count; id++) {
      rows.add(TimestampedValue.of(row(id), Instant.ofEpochMilli(40L * ((37L * id) % count))));
    }
    return pipeline.apply(Create.timestamped(rows).withCoder(RowCoder.of(SCHEMA)));
  }

  /** Each encoding gives this many lines, and they are the same. */
  private void assertSame(PCollection<KV<Encoding, String>> lines, int count) {
    PAssert.that(lines.apply("to one window", Window.into(new GlobalWindows())))
        .satisfies(
            all -> {
              Map<Encoding, Map<String, Integer>> found = new TreeMap<>();
              all.forEach(
                  it ->
                      found
                          .computeIfAbsent(it.getKey(), unused -> new TreeMap<>())
                          .merge(it.getValue(), 1, Integer::sum));
              assertEquals(found.get(Encoding.ROWS), found.get(Encoding.ARROW));
              assertEquals(count, found.get(Encoding.ARROW).size());
              return null;
            });
    pipeline.run().waitUntilFinish();
  }

  private static PCollection<KV<Encoding, String>> lines(
      Encoding encoding, String what, PCollection<?> elements) {
    return elements
        .apply(what + " by " + encoding, ParDo.of(new Lines<>(encoding, what)))
        .setCoder(KvCoder.of(SerializableCoder.of(Encoding.class), StringUtf8Coder.of()));
  }

  private static PCollection<KV<Encoding, String>> together(
      List<PCollection<KV<Encoding, String>>> lines) {
    return PCollectionList.of(lines).apply(Flatten.pCollections());
  }

  private PCollection<KV<Encoding, String>> scoredIn(WindowFn<? super Row, ?> windows, int count) {
    PCollection<Row> rows = rows(count).apply("windows", Window.into(windows));
    List<PCollection<KV<Encoding, String>>> lines = new ArrayList<>();
    for (Encoding encoding : Encoding.values()) {
      PCollectionRowTuple both =
          rows.apply("score " + encoding, AVERAGE.withEncoding(encoding).withErrors());
      lines.add(lines(encoding, "scored", both.get("output")));
      lines.add(lines(encoding, "failed", both.get("errors")));
    }
    return together(lines);
  }

  @Test
  public void allRowsComeOutAlike() {
    assertSame(scoredIn(new GlobalWindows(), MORE_THAN_A_BATCH), MORE_THAN_A_BATCH);
  }

  @Test
  public void windowsAreKept() {
    assertSame(scoredIn(FixedWindows.of(Duration.standardSeconds(7)), ROWS), ROWS);
  }

  @Test
  public void rowsInSeveralWindowsComeOutInEach() {
    Duration second = Duration.standardSeconds(1);
    assertSame(
        scoredIn(SlidingWindows.of(second.multipliedBy(40)).every(second.multipliedBy(20)), ROWS),
        2 * ROWS);
  }

  @Test
  public void sessionsMayBePackedToo() {
    assertSame(scoredIn(Sessions.withGapDuration(Duration.millis(10)), ROWS), ROWS);
  }

  @Test
  public void keyedRowsComeOutAlike() {
    PCollection<KV<String, Row>> rows =
        rows(ROWS)
            .apply("keys", ParDo.of(new Keys()))
            .setCoder(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(SCHEMA)));
    List<PCollection<KV<Encoding, String>>> lines = new ArrayList<>();
    for (Encoding encoding : Encoding.values()) {
      WithFailures.Result<PCollection<KV<String, Row>>, KV<String, Row>> both =
          rows.apply("score " + encoding, AVERAGE.withEncoding(encoding).withErrors().keyed());
      lines.add(lines(encoding, "scored", both.output()));
      lines.add(lines(encoding, "failed", both.failures()));
    }
    assertSame(together(lines), ROWS);
  }

  @Test
  public void someFieldsOnlyComeOutAlike() {
    List<PCollection<KV<Encoding, String>>> lines = new ArrayList<>();
    PCollection<Row> rows = rows(ROWS);
    for (Encoding encoding : Encoding.values()) {
      RunEnsemble ensemble =
          AVERAGE
              .withEncoding(encoding)
              .withPassThrough("price", "inner")
              .withColumns(Map.of("a", "b"))
              .withPrefix("the_");
      PCollection<Row> scored = rows.apply("score " + encoding, ensemble);
      assertEquals(List.of("price", "inner", "the_average"), scored.getSchema().getFieldNames());
      lines.add(lines(encoding, "scored", scored));
    }
    assertSame(together(lines), ROWS);
  }

  @Test
  public void packedRowsAreTheDefault() {
    rows(ROWS).apply(AVERAGE.withErrors());

    List<String> steps = new ArrayList<>();
    pipeline.traverseTopologically(new Steps(steps));
    assertTrue(steps.toString(), steps.contains("RunEnsemble(average)/Pack"));
    pipeline.run().waitUntilFinish();
  }

  /** Says all that there is to an element. */
  private static class Lines<T> extends DoFn<T, KV<Encoding, String>> {
    private final Encoding encoding;
    private final String what;

    private Lines(Encoding encoding, String what) {
      this.encoding = encoding;
      this.what = what;
    }

    @ProcessElement
    public void process(
        @Element T element,
        @Timestamp Instant time,
        BoundedWindow window,
        OutputReceiver<KV<Encoding, String>> output) {
      String line = what + " " + element + " at " + time + " in " + window;
      output.output(KV.of(encoding, line));
    }
  }

  private static class Keys extends DoFn<Row, KV<String, Row>> {
    @ProcessElement
    public void process(@Element Row row, OutputReceiver<KV<String, Row>> output) {
      output.output(KV.of("key " + row.getInt64("id") % 100, row));
    }
  }

  private static class Steps extends Pipeline.PipelineVisitor.Defaults {
    private final List<String> names;

    private Steps(List<String> names) {
      this.names = names;
    }

    @Override
    public CompositeBehavior enterCompositeTransform(TransformHierarchy.Node node) {
      names.add(node.getFullName());
      return CompositeBehavior.ENTER_TRANSFORM;
    }
  }
}
