package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.io.range.OffsetRange;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.testing.TestStream;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.GroupByKey;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.WithKeys;
import org.apache.beam.sdk.transforms.splittabledofn.RestrictionTracker;
import org.apache.beam.sdk.transforms.windowing.BoundedWindow;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.GlobalWindows;
import org.apache.beam.sdk.transforms.windowing.Window;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TimestampedValue;
import org.apache.beam.sdk.values.TypeDescriptors;
import org.joda.time.Instant;
import org.junit.After;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestName;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Pipelines that do not end: new models come into force, and rows wait for those of others. */
@RunWith(JUnit4.class)
public class StreamsIntegrationTest implements Serializable {

  private static final String FOLDER_VARIABLE = "BEAM_ENSEMBLES_FRAMEWORKS";
  private static final long PAUSE_MILLIS = 50;
  private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final Schema NUMBER = Schema.builder().addDoubleField("x").build();

  /** What has come out, by the name of its step: the worker is in this process. */
  private static final Map<String, Queue<Row>> FOUND = new ConcurrentHashMap<>();

  /** The streams that were told to end. */
  private static final Set<String> ENDED = ConcurrentHashMap.newKeySet();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  @Rule public final transient TestName test = new TestName();

  private transient Path folder;

  /** Copies the files into a folder of the test's own, within the one that the service trusts. */
  @Before
  public void copyFiles() throws IOException {
    Path given = Path.of(RealRunner.assumed(FOLDER_VARIABLE));
    folder = Files.createTempDirectory(given, "stream");
    try (Stream<Path> files = Files.list(given.resolve("streams"))) {
      for (Path file : files.toList()) {
        Files.copy(file, folder.resolve(file.getFileName()));
      }
    }
  }

  @After
  public void removeFiles() throws IOException {
    if (folder != null) {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }

  @Test
  public void streamsGoOnWithNewModels() throws IOException {
    publish("line_1.joblib", "first.joblib");
    publish("line_1.joblib", "second.joblib");
    String file = folder.resolve("times.yaml").toString();
    PCollection<Row> numbers =
        pipeline
            .apply(Create.of(test.getMethodName()))
            .apply(ParDo.of(new Count()))
            .setRowSchema(NUMBER);
    collect("by text", numbers, RunEnsemble.fromFile(file).withEncoding(Encoding.ARROW));
    collect("by place", numbers, RunEnsemble.fromUri(file).withEncoding(Encoding.ROWS));
    CompletableFuture<Void> changes = CompletableFuture.runAsync(this::change);
    pipeline.run().waitUntilFinish();
    changes.join();
    assertVersions("by text", List.of(List.of(1L, 1L), List.of(2L, 1L)));
    assertVersions("by place", List.of(List.of(1L, 1L), List.of(2L, 1L), List.of(3L, 3L)));
  }

  @Test
  public void modelsThatTheLockDoesNotAllowAreRefused() throws IOException {
    publish("line_1.joblib", "first.joblib");
    publish("line_1.joblib", "second.joblib");
    PCollection<Row> numbers =
        pipeline
            .apply(Create.of(test.getMethodName()))
            .apply(ParDo.of(new Count()))
            .setRowSchema(NUMBER);
    collect("gated", numbers, RunEnsemble.fromUri(folder.resolve("gated.yaml").toString()));
    CompletableFuture<Void> changes = CompletableFuture.runAsync(this::changeBehindGate);
    PipelineResult result = pipeline.run();
    result.waitUntilFinish();
    changes.join();
    assertVersions("gated", List.of(List.of(1L, 1L), List.of(3L, 3L)));
    EnsembleMetrics found = EnsembleMetrics.of(result).get(0);
    assertTrue(found.toString(), found.refreshes() >= 1);
    assertTrue(found.toString(), found.refusedRefreshesByGate() >= 1);
    assertTrue(found.toString(), found.refusedRefreshes() >= found.refusedRefreshesByGate());
  }

  /** Puts a model in place that the lock does not allow, then the lock of others, and those. */
  private void changeBehindGate() {
    try {
      waitFor(List.of(1L, 1L), "gated");
      publish("line_2.joblib", "first.joblib");
      // Ten seconds, in which the worker looks often.
      waitFor(List.of(1L, 1L), FOUND.get("gated").size() + 200, "gated");
      publish("gated_3.lock.parquet", "gated.lock.parquet");
      publish("gated_3.lock.yaml", "gated.lock.yaml");
      publish("line_3.joblib", "first.joblib");
      publish("line_3.joblib", "second.joblib");
      waitFor(List.of(3L, 3L), "gated");
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      ENDED.add(test.getMethodName());
    }
  }

  private static void collect(String name, PCollection<Row> numbers, RunEnsemble ensemble) {
    FOUND.put(name, new ConcurrentLinkedQueue<>());
    numbers
        .apply(name, ensemble.withProvenance().withRefreshInterval(Duration.ofSeconds(1)))
        .apply("collect " + name, ParDo.of(new Collect(name)));
  }

  /** Puts a new model, then a new file in place, each after rows were scored by what was there. */
  private void change() {
    try {
      waitFor(List.of(1L, 1L), "by text", "by place");
      publish("line_2.joblib", "first.joblib");
      waitFor(List.of(2L, 1L), "by text", "by place");
      publish("times_3.yaml", "times.yaml");
      waitFor(List.of(3L, 3L), "by place");
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      ENDED.add(test.getMethodName());
    }
  }

  /** Puts a whole file where another may be, as those do who publish models. */
  private void publish(String from, String to) throws IOException {
    Path fresh = folder.resolve(to + ".new");
    Files.copy(folder.resolve(from), fresh);
    Files.move(fresh, folder.resolve(to), StandardCopyOption.ATOMIC_MOVE);
  }

  private static void waitFor(List<Long> factors, String... names) throws InterruptedException {
    waitFor(factors, 5, names);
  }

  private static void waitFor(List<Long> factors, int rows, String... names)
      throws InterruptedException {
    for (long end = System.nanoTime() + PATIENCE_NANOS; System.nanoTime() < end; ) {
      if (Stream.of(names)
          .allMatch(
              name ->
                  FOUND.get(name).stream().map(it -> factors(it)).filter(factors::equals).count()
                      >= rows)) {
        return;
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    throw new AssertionError("no rows are multiplied by " + factors);
  }

  /** What the models of both stages multiplied a row by. */
  private static List<Long> factors(Row row) {
    double x = row.getDouble("x");
    return List.of(Math.round(row.getDouble("one") / x), Math.round(row.getDouble("two") / x));
  }

  /**
   * Each number came out once; a row that the stages scored by two versions would be one version
   * more, and each version has a digest of its own.
   */
  private static void assertVersions(String name, List<List<Long>> wanted) {
    List<Row> rows = List.copyOf(FOUND.get(name));
    Set<Double> numbers = new TreeSet<>();
    Map<String, Set<List<Long>>> versions = new TreeMap<>();
    for (Row row : rows) {
      numbers.add(row.getDouble("x"));
      versions
          .computeIfAbsent(
              row.getRow("provenance").getString("digest"), it -> ConcurrentHashMap.newKeySet())
          .add(factors(row));
    }
    assertEquals("each once", rows.size(), numbers.size());
    assertEquals("none is lost", (double) rows.size(), ((TreeSet<Double>) numbers).last(), 0);
    assertEquals(versions.toString(), wanted.size(), versions.size());
    Set<List<Long>> found = new TreeSet<>((a, b) -> a.toString().compareTo(b.toString()));
    versions.forEach(
        (digest, factors) -> {
          assertTrue(digest, digest.matches("[0-9a-f]{16}"));
          assertEquals(versions.toString(), 1, factors.size());
          found.addAll(factors);
        });
    assertEquals(wanted, List.copyOf(found));
  }

  /** Each row is a bundle, the watermark right behind it: what lets it go on loses rows. */
  @Test
  public void rowsWaitForThoseOfOtherBundles() {
    TestStream.Builder<Row> stream = TestStream.create(RowCoder.of(NUMBER));
    for (int x = 0; x < 10; x++) {
      Row row = Row.withSchema(NUMBER).addValue((double) x).build();
      Instant time = Instant.ofEpochSecond(x);
      stream = stream.addElements(TimestampedValue.of(row, time)).advanceWatermarkTo(time);
    }
    PCollection<Row> numbers = pipeline.apply(stream.advanceWatermarkToInfinity());
    List<String> wanted = new ArrayList<>();
    for (int x = 0; x < 10; x += 2) {
      Instant end = Instant.ofEpochSecond(x + 2).minus(1);
      wanted.add(
          List.of(
                  x + " at " + Instant.ofEpochSecond(x),
                  x + 1 + " at " + Instant.ofEpochSecond(x + 1))
              + " until "
              + end);
    }
    for (Encoding encoding : Encoding.values()) {
      RunEnsemble ensemble = RunEnsemble.fromFile(folder.resolve("waits.yaml").toString());
      PCollection<String> windows =
          numbers
              .apply("wait " + encoding, ensemble.withEncoding(encoding))
              .apply("say " + encoding, ParDo.of(new Say()))
              .apply(
                  "window " + encoding,
                  Window.into(FixedWindows.of(org.joda.time.Duration.standardSeconds(2))))
              .apply(
                  "key " + encoding,
                  WithKeys.<Integer, String>of(0).withKeyType(TypeDescriptors.integers()))
              .apply("group " + encoding, GroupByKey.create()) // It drops what comes late.
              .apply("show " + encoding, ParDo.of(new Show()))
              .apply("all " + encoding, Window.into(new GlobalWindows()));
      PAssert.that(windows).containsInAnyOrder(wanted);
    }
    PipelineResult result = pipeline.run();
    result.waitUntilFinish();
    assertBatches(result, Encoding.values().length);
  }

  /** Ten rows ran in batches of four, four and two, once for each call. */
  private static void assertBatches(PipelineResult result, int calls) {
    NodeMetrics deep = EnsembleMetrics.of(result).get(0).node("deep");
    Distribution sizes = deep.inferenceRequestBatchSize().orElseThrow();
    assertEquals(10 * calls, sizes.sum());
    assertEquals(3 * calls, sizes.count());
    assertEquals(4, sizes.max());
  }

  /** Gives the whole numbers from 1 on, until the stream of its element's name is told to end. */
  @DoFn.UnboundedPerElement
  private static final class Count extends DoFn<String, Row> {
    @GetInitialRestriction
    public OffsetRange all() {
      return new OffsetRange(1, Long.MAX_VALUE);
    }

    @ProcessElement
    public ProcessContinuation process(
        @Element String name,
        RestrictionTracker<OffsetRange, Long> tracker,
        OutputReceiver<Row> output) {
      OffsetRange range = tracker.currentRestriction();
      if (ENDED.contains(name)) {
        tracker.tryClaim(range.getTo());
        return ProcessContinuation.stop();
      }
      if (!tracker.tryClaim(range.getFrom())) {
        return ProcessContinuation.stop();
      }
      output.output(Row.withSchema(NUMBER).addValue((double) range.getFrom()).build());
      return ProcessContinuation.resume()
          .withResumeDelay(org.joda.time.Duration.millis(PAUSE_MILLIS));
    }
  }

  private static final class Collect extends DoFn<Row, Void> {
    private final String name;

    private Collect(String name) {
      this.name = name;
    }

    @ProcessElement
    public void process(@Element Row row) {
      FOUND.get(name).add(row);
    }
  }

  /** Says which row it is, and when; a row that was scored otherwise says so. */
  private static final class Say extends DoFn<Row, String> {
    @ProcessElement
    public void process(@Element Row row, @Timestamp Instant time, OutputReceiver<String> output) {
      double x = row.getDouble("x");
      boolean right = Math.abs(row.getDouble("deep") - x) < 1e-9;
      output.output((right ? "" : "wrong: " + row + " ") + Math.round(x) + " at " + time);
    }
  }

  private static final class Show extends DoFn<KV<Integer, Iterable<String>>, String> {
    @ProcessElement
    public void process(
        @Element KV<Integer, Iterable<String>> group,
        BoundedWindow window,
        OutputReceiver<String> output) {
      List<String> rows = new ArrayList<>();
      group.getValue().forEach(rows::add);
      output.output(rows.stream().sorted().toList() + " until " + window.maxTimestamp());
    }
  }
}
