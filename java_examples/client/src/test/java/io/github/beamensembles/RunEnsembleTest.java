package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.auto.value.AutoValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.beam.model.pipeline.v1.SchemaApi;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.PipelineResult;
import org.apache.beam.sdk.PipelineRunner;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.schemas.AutoValueSchema;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.annotations.SchemaCreate;
import org.apache.beam.sdk.testing.CrashingRunner;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.transforms.PTransform;
import org.apache.beam.sdk.transforms.WithKeys;
import org.apache.beam.sdk.transforms.display.DisplayData;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.POutput;
import org.apache.beam.sdk.values.Row;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link RunEnsemble}: what it sends, and what it refuses to send. */
@RunWith(JUnit4.class)
public class RunEnsembleTest {

  private static final Schema SCHEMA =
      Schema.builder()
          .addInt64Field("id")
          .addField("price", FieldType.iterable(FieldType.STRING))
          .build();
  private static final Row ROW = Row.withSchema(SCHEMA).addValues(1L, List.of("1")).build();
  private static final String TEXT = "ensemble: e";

  @Rule
  public final FakeService service =
      new FakeService("ensemble 'e' is not valid: 1 problem\n  [missing_key] nodes: required");

  @Rule
  public final TestPipeline pipeline = TestPipeline.create().enableAbandonedNodeEnforcement(false);

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  /** A row with a name of its own. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Item {
    public long id;
    public String name = "";
  }

  /** What the caller wants of a scored row. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Scored {
    public double score;
    public Iterable<String> price = List.of();
  }

  private RunEnsemble ensemble() {
    return RunEnsemble.fromText(TEXT, "/models").withExpansionService(service.address());
  }

  private PCollection<Row> rows() {
    return pipeline.apply(Create.of(ROW).withRowSchema(SCHEMA));
  }

  private Schema sentOutput() throws IOException {
    return SchemaTranslation.schemaFromProto(
        SchemaApi.Schema.parseFrom(service.config().getBytes("output_schema")));
  }

  private int collections;

  private PCollection<KV<String, Row>> keyedRows() {
    return pipeline.apply(
        "keyed " + ++collections,
        Create.of(KV.of("k", ROW))
            .withCoder(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(SCHEMA))));
  }

  /** Applies a transform, which the service answers with its error. */
  private <T, O extends POutput> EnsembleException apply(
      PCollection<T> input, PTransform<? super PCollection<T>, O> transform) {
    return assertThrows(EnsembleException.class, () -> input.apply(transform));
  }

  @Test
  public void aMistakeComesBackInTheServicesWords() {
    EnsembleException error = apply(rows(), ensemble());

    assertEquals(List.of(new Problem("missing_key", "nodes", "required")), error.problems());
    assertTrue(error.getMessage(), error.getMessage().startsWith("ensemble 'e' is not valid"));
  }

  @Test
  public void onlyWhatIsSetIsSent() throws IOException {
    apply(pipeline.apply(Create.of(new Item())), ensemble().withEncoding(Encoding.ROWS));

    assertEquals(
        List.of("spec", "base_uri", "client"), service.config().getSchema().getFieldNames());
  }

  @Test
  public void packedRowsAreAnnouncedWithTheirSchema() throws IOException {
    apply(rows(), ensemble());

    assertEquals("arrow", service.config().getString("encoding"));
    Schema sent =
        SchemaTranslation.schemaFromProto(
            SchemaApi.Schema.parseFrom(service.config().getBytes("input_schema")));
    assertEquals(List.of("id", "__opaque"), sent.getFieldNames());
  }

  @Test
  public void everyOptionSurvivesTheOthers() throws IOException {
    RunEnsemble ensemble =
        ensemble()
            .withParameters(Map.of("p", "1"))
            .withColumns(Map.of("x", "id"))
            .withPrefix("e_")
            .withPassThrough("id", "price")
            .withEncoding(Encoding.ROWS)
            .withExpansionService(service.address());
    apply(rows(), ensemble.withErrors());

    Row config = service.config();
    assertFalse(config.getSchema().hasField("encoding"));
    assertEquals(TEXT, config.getString("spec"));
    assertEquals("/models", config.getString("base_uri"));
    assertEquals(Map.of("p", "1"), config.getMap("parameters"));
    assertEquals(Map.of("x", "id"), config.getMap("columns"));
    assertEquals("e_", config.getString("prefix"));
    assertEquals(List.of("id", "__opaque"), List.copyOf(config.getArray("pass_through")));
    assertEquals(Map.of("price", "iterable<string>"), config.getMap("opaque"));
    assertEquals("errors", config.getRow("error_handling").getString("output"));
    assertTrue(config.getString("client").matches("java \\d+\\.\\d+\\.\\d+.*"));
  }

  @Test
  public void aRefreshIntervalIsWholeSeconds() {
    for (long millis : new long[] {-2000, 0, 999, 1500}) {
      Duration wrong = Duration.ofMillis(millis);
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> ensemble().withRefreshInterval(wrong));
      assertEquals(
          "a refresh interval is a whole number of seconds, at least one, not " + wrong,
          error.getMessage());
    }
  }

  @Test
  public void aFilesTextAndFolderAreSent() throws IOException {
    Path file = folder.newFile("e.yaml").toPath();
    Files.writeString(file, TEXT + " # été");

    apply(rows(), RunEnsemble.fromFile(file.toString()).withExpansionService(service.address()));

    assertEquals(TEXT + " # été", service.config().getString("spec"));
    assertEquals(file.getParent().toString(), service.config().getString("base_uri"));
  }

  @Test
  public void aUriIsLeftToTheService() throws IOException {
    apply(rows(), RunEnsemble.fromUri("gs://b/e.yaml").withExpansionService(service.address()));

    assertEquals("gs://b/e.yaml", service.config().getString("spec_uri"));
  }

  @Test
  public void aBundleIsLeftToTheServiceToo() throws IOException {
    String bundle = folder.getRoot().toPath().resolve("e-0123456789ab.ensemble.zip").toString();

    apply(rows(), RunEnsemble.fromFile(bundle).withExpansionService(service.address()));

    assertEquals(bundle, service.config().getString("spec_uri"));
    assertFalse(service.config().getSchema().hasField("spec"));
  }

  @Test
  public void theCallersTypeIsSentAsTheOutputsSchema() throws IOException {
    apply(rows(), ensemble().as(Scored.class));

    assertEquals(List.of("score", "__opaque"), sentOutput().getFieldNames());
  }

  @Test
  public void keyedRowsAreTakenInEveryShape() throws IOException {
    apply(keyedRows(), ensemble().keyed());
    assertFalse(service.config().getSchema().hasField("output_schema"));
    apply(keyedRows(), ensemble().as(Scored.class).keyed());
    assertTrue(service.config().getSchema().hasField("output_schema"));
    apply(keyedRows(), ensemble().withErrors().keyed());
    assertTrue(service.config().getSchema().hasField("error_handling"));
    apply(keyedRows(), ensemble().withErrors().as(Scored.class).keyed());
    assertTrue(service.config().getSchema().hasField("error_handling"));
  }

  @Test
  public void aMissingFileIsNamed() {
    EnsembleException error = apply(rows(), RunEnsemble.fromFile("no/such.yaml"));

    String path = Path.of("no/such.yaml").toAbsolutePath().toString();
    assertTrue(error.getMessage(), error.getMessage().contains("no file '" + path + "'"));
    assertEquals("missing_file", error.problems().get(0).code());
  }

  @Test
  public void aFileThatIsNoTextIsNamed() throws IOException {
    Path file = folder.newFile("model.onnx").toPath();
    Files.write(file, new byte[] {(byte) 0xc3, (byte) 0x28});

    EnsembleException error = apply(rows(), RunEnsemble.fromFile(file.toString()));

    assertEquals("unreadable_file", error.problems().get(0).code());
    assertTrue(error.getMessage(), error.getMessage().contains(file.toString()));
  }

  @Test
  public void aTextNeedsNoPlace() throws IOException {
    RunEnsemble nowhere = RunEnsemble.fromText(TEXT, null).withEncoding(Encoding.ROWS);
    apply(pipeline.apply(Create.of(new Item())), nowhere.withExpansionService(service.address()));

    assertEquals(List.of("spec", "client"), service.config().getSchema().getFieldNames());
  }

  @Test
  public void aTextHasWords() {
    for (String text : new String[] {null, " \n"}) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> RunEnsemble.fromText(text, "/models"));
      assertTrue(error.getMessage(), error.getMessage().contains("fromText is empty"));
    }
  }

  @Test
  public void aFileIsOneOfThisMachine() {
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class, () -> RunEnsemble.fromFile("gs://bucket/e.yaml"));

    assertTrue(error.getMessage(), error.getMessage().contains("fromUri"));
  }

  private String refusedAddress(String address) {
    return assertThrows(
            IllegalArgumentException.class, () -> ensemble().withExpansionService(address))
        .getMessage();
  }

  @Test
  public void anAddressIsHostAndPort() {
    assertEquals(
        "the address of withExpansionService must be host:port, such as localhost:8097, not"
            + " 'localhost'",
        refusedAddress("localhost"));
    assertTrue(refusedAddress("localhost:70000").contains("host:port"));
    assertTrue(refusedAddress("").contains("host:port"));
    assertTrue(refusedAddress("http://localhost:8097/").endsWith("; write 'localhost:8097'"));
    assertTrue(refusedAddress("https://a.b:1").endsWith("; write 'a.b:1', and add withTls"));
    assertEquals("'address' is null", refusedAddress(null));
  }

  @Test
  public void anEmptyVariableNamesNoService() {
    for (String value : new String[] {"", " "}) {
      Map<String, String> environment = Map.of(RunEnsemble.ADDRESS_VARIABLE, value);
      assertEquals(Optional.empty(), ServiceAddress.fromEnvironment(environment));
    }
    Map<String, String> wrong = Map.of(RunEnsemble.ADDRESS_VARIABLE, "http://localhost:1");
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> ServiceAddress.fromEnvironment(wrong));
    assertTrue(error.getMessage(), error.getMessage().startsWith("BEAM_ENSEMBLES_ADDR must be"));
  }

  @Test
  public void nothingIsNull() {
    List<ThrowingRunnable> calls =
        List.of(
            () -> RunEnsemble.fromFile(null),
            () -> RunEnsemble.fromUri(null),
            () -> ensemble().withTls(null),
            () -> ensemble().withTls("ca", null, "key"),
            () -> ensemble().withTokenFile(null),
            () -> ensemble().withParameters(null),
            () -> ensemble().withColumns(Collections.singletonMap("x", null)),
            () -> ensemble().withPrefix(null),
            () -> ensemble().withPassThrough("id", null),
            () -> ensemble().withRefreshInterval(null),
            () -> ensemble().withEncoding(null),
            () -> ensemble().withTimeouts(null),
            () -> ensemble().as(null),
            () -> ensemble().withErrors().as(null),
            () -> Timeouts.DEFAULT.withStart(null));
    for (ThrowingRunnable call : calls) {
      IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
      assertTrue(error.getMessage(), error.getMessage().endsWith(" is null"));
    }
  }

  @Test
  public void aTimeoutIsLongerThanZero() {
    for (Duration wrong : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> Timeouts.DEFAULT.withConnect(wrong));
      assertEquals(
          "the timeout 'connect' must be longer than zero, not " + wrong, error.getMessage());
    }
  }

  /** Has the name of the runner that is refused. */
  public static final class DirectRunner extends PipelineRunner<PipelineResult> {
    public static DirectRunner fromOptions(PipelineOptions options) {
      return new DirectRunner();
    }

    @Override
    public PipelineResult run(Pipeline pipeline) {
      throw new AssertionError("the pipeline is not built");
    }
  }

  @Test
  public void theDirectRunnerIsRefused() {
    PipelineOptions options = PipelineOptionsFactory.create();
    options.setRunner(DirectRunner.class);
    PCollection<Row> rows = Pipeline.create(options).apply(Create.of(ROW).withRowSchema(SCHEMA));

    for (EnsembleException error :
        List.of(
            apply(rows, ensemble()),
            apply(rows, ensemble().withErrors().as(Scored.class)),
            assertThrows(
                EnsembleException.class,
                () -> ensemble().as(Scored.class).validate(options, Map.of(), Map.of())))) {
      assertTrue(error.getMessage(), error.getMessage().startsWith("the DirectRunner of Beam"));
      assertTrue(error.getMessage(), error.getMessage().contains("LoopbackWorker"));
    }
  }

  @Test
  public void beamsLoopbackIsRefused() {
    PipelineOptions options =
        PipelineOptionsFactory.fromArgs("--defaultEnvironmentType=LOOPBACK").create();
    options.setRunner(CrashingRunner.class);
    PCollection<Row> rows = Pipeline.create(options).apply(Create.of(ROW).withRowSchema(SCHEMA));

    EnsembleException error = apply(rows, ensemble());

    assertTrue(error.getMessage(), error.getMessage().contains("LOOPBACK cannot be used"));
    assertTrue(error.getMessage(), error.getMessage().contains("LoopbackWorker"));
  }

  @Test
  public void elementsNeedASchema() {
    PCollection<String> words = pipeline.apply(Create.of("a"));

    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> words.apply(ensemble()));

    assertTrue(error.getMessage(), error.getMessage().contains("a type with a schema"));
  }

  /** Beam takes a record for a type without fields. */
  @DefaultSchema(JavaFieldSchema.class)
  public record Recorded(long id) {}

  @Test
  public void recordsAreRefused() {
    PCollection<Recorded> records = pipeline.apply(Create.of(new Recorded(1)));

    for (ThrowingRunnable call :
        List.<ThrowingRunnable>of(
            () -> records.apply(ensemble()),
            () -> records.apply(WithKeys.<String, Recorded>of("k")).apply(ensemble().keyed()),
            () -> rows().apply(ensemble().as(Recorded.class)))) {
      IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call);
      assertTrue(
          error.getMessage(), error.getMessage().contains("Recorded is a Java record, in which"));
    }
  }

  /** A row type of AutoValue's. */
  @DefaultSchema(AutoValueSchema.class)
  @AutoValue
  public abstract static class Measured {
    /** The row's number. */
    public abstract long getId();

    /** Its values. */
    public abstract List<Double> getValues();

    /** Makes a row. */
    @SchemaCreate
    public static Measured of(long id, List<Double> values) {
      return new AutoValue_RunEnsembleTest_Measured(id, values);
    }
  }

  @Test
  public void autoValuesAreTakenAndGiven() throws IOException {
    apply(pipeline.apply(Create.of(Measured.of(1, List.of(0.5)))), ensemble().as(Measured.class));

    assertEquals(List.of("id", "values"), sentOutput().getFieldNames());
  }

  @Test
  public void keyedRowsWithoutKeyedAreRefused() {
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> keyedRows().apply(ensemble()));

    assertTrue(error.getMessage(), error.getMessage().contains("keyed()"));
  }

  @Test
  public void theOutputsTypeNeedsASchema() {
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class, () -> rows().apply(ensemble().as(Object.class)));

    assertTrue(error.getMessage(), error.getMessage().contains("java.lang.Object has no schema"));
  }

  @Test
  public void aPipelinesPictureNamesTheFile() {
    DisplayData shown = DisplayData.from(RunEnsemble.fromFile("digits.yaml"));

    assertTrue(shown.toString(), shown.toString().contains("digits.yaml"));
  }

  @Test
  public void aStepIsCalledByItsEnsemble() throws IOException {
    Path file = folder.newFile("file.yaml").toPath();
    Files.writeString(file, "# ensemble: no\nensemble: 'fraud-eu' # ensemble: no");
    RunEnsemble json = RunEnsemble.fromText("{\n  \"ensemble\": \"in_json\"}", null);

    assertEquals("RunEnsemble(e)", ensemble().getName());
    assertEquals("RunEnsemble(e)", ensemble().withErrors().as(Scored.class).keyed().getName());
    assertEquals("RunEnsemble(in_json)", json.getName());
    assertEquals("RunEnsemble(fraud-eu)", RunEnsemble.fromFile(file.toString()).getName());
    assertEquals("RunEnsemble(such)", RunEnsemble.fromFile("no/such.yaml").getName());
    assertEquals("RunEnsemble(b)", RunEnsemble.fromUri("gs://a/b.ensemble.zip").getName());
    assertEquals("RunEnsemble(text)", RunEnsemble.fromText("nodes: {}", null).getName());
  }

  @Test
  public void aPipelinesPictureNamesTheSettings() {
    RunEnsemble all =
        ensemble()
            .withParameters(Map.of("p", "hidden"))
            .withColumns(Map.of("x", "id"))
            .withPrefix("e_")
            .withPassThrough("id")
            .withEncoding(Encoding.ROWS)
            .withRefreshInterval(Duration.ofMinutes(1))
            .withTls("ca.pem")
            .withTokenFile("secret/token")
            .withProvenance()
            .withTimeouts(Timeouts.DEFAULT.withExpand(Duration.ofSeconds(77)));

    DisplayData data = DisplayData.from(all.withErrors().as(Scored.class));
    String shown = data.items().toString();

    List<String> parts =
        List.of(
            "SHA-256",
            "/models",
            service.address(),
            "ROWS",
            "[p]",
            "x=id",
            "e_",
            "[id]",
            "PT1M",
            "ca.pem",
            "secret/token",
            "expand=PT1M17S");
    for (String part : parts) {
      assertTrue(part + " in " + shown, shown.contains(part));
    }
    assertFalse(shown, shown.contains("hidden"));
    // Provenance and the output of errors.
    assertEquals(
        2, data.items().stream().filter(item -> Boolean.TRUE.equals(item.getValue())).count());
  }
}
