package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.beam.model.pipeline.v1.SchemaApi;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.annotations.SchemaFieldNumber;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/** Every client sends the same configuration for the same call: {@code tests/golden/payloads}. */
@RunWith(Parameterized.class)
public class GoldenPayloadsTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, FieldType> TYPES =
      Map.of("double", FieldType.DOUBLE, "own", FieldType.iterable(FieldType.STRING));

  @Parameters(name = "{0}")
  public static List<String> files() throws IOException {
    return Golden.files("payloads", ".json").stream()
        .map(it -> it.getFileName().toString())
        .toList();
  }

  @Rule public final FakeService service = new FakeService("asked");

  @Rule
  public final TestPipeline pipeline = TestPipeline.create().enableAbandonedNodeEnforcement(false);

  private final JsonNode call;
  private final JsonNode config;

  public GoldenPayloadsTest(String file) throws IOException {
    JsonNode golden = Golden.json(Golden.folder("payloads").resolve(file));
    call = golden.get("call");
    config = golden.get("config");
  }

  /** A scored row with the field that went in. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Average {
    @SchemaFieldNumber("0")
    public double x;

    @SchemaFieldNumber("1")
    public double average;
  }

  /** A scored row with a field of a type that cannot cross. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class AverageThen {
    @SchemaFieldNumber("0")
    public Iterable<String> taken = List.of();

    @SchemaFieldNumber("1")
    public double average;
  }

  private static final Map<List<String>, Class<?>> SCORED =
      Map.of(
          List.of("x", "average"), Average.class,
          List.of("taken", "average"), AverageThen.class);

  @Test
  public void theConfigurationIsThatOfEveryClient() throws IOException {
    assertThrows(EnsembleException.class, this::applyCall);

    assertEquals(withOpaqueNamesOnly(config), withOpaqueNamesOnly(sent()));
  }

  private void applyCall() {
    boolean errors = call.path("errors").asBoolean();
    Class<?> scored = SCORED.get(names(call.get("scored")));
    if (call.path("keyed").asBoolean()) {
      PCollection<KV<String, Row>> rows =
          pipeline.apply(Create.empty(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(rowSchema()))));
      if (errors) {
        rows.apply(ensemble().withErrors().as(scored).keyed());
      } else {
        rows.apply(ensemble().as(scored).keyed());
      }
      return;
    }
    PCollection<Row> rows = pipeline.apply(Create.empty(rowSchema()));
    if (errors) {
      rows.apply(ensemble().withErrors().as(scored));
    } else {
      rows.apply(ensemble().as(scored));
    }
  }

  private RunEnsemble ensemble() {
    RunEnsemble ensemble =
        call.has("uri")
            ? RunEnsemble.fromUri(call.get("uri").asText())
            : RunEnsemble.fromText(call.get("text").asText(), call.get("base_uri").asText());
    if (call.has("parameters")) {
      ensemble = ensemble.withParameters(texts(call.get("parameters")));
    }
    if (call.has("columns")) {
      ensemble = ensemble.withColumns(texts(call.get("columns")));
    }
    if (call.has("prefix")) {
      ensemble = ensemble.withPrefix(call.get("prefix").asText());
    }
    if (call.has("pass_through")) {
      ensemble =
          ensemble.withPassThrough(JSON.convertValue(call.get("pass_through"), String[].class));
    }
    if (call.path("provenance").asBoolean()) {
      ensemble = ensemble.withProvenance();
    }
    if (call.has("refresh_interval_secs")) {
      long seconds = call.get("refresh_interval_secs").asLong();
      ensemble = ensemble.withRefreshInterval(Duration.ofSeconds(seconds));
    }
    if (call.has("encoding")) {
      String encoding = call.get("encoding").asText().toUpperCase(Locale.ROOT);
      ensemble = ensemble.withEncoding(Encoding.valueOf(encoding));
    }
    return ensemble.withExpansionService(service.address());
  }

  private Schema rowSchema() {
    Schema.Builder schema = Schema.builder();
    call.get("row")
        .fields()
        .forEachRemaining(
            field -> schema.addField(field.getKey(), TYPES.get(field.getValue().asText())));
    return schema.build();
  }

  /** The configuration as the golden files write it down. */
  private ObjectNode sent() throws IOException {
    Row row = service.config();
    ObjectNode sent = JSON.createObjectNode();
    for (String name : row.getSchema().getFieldNames()) {
      Object value = row.getValue(name);
      switch (name) {
        case "client" -> {}
        case "input_schema", "output_schema" ->
            sent.set(name, JSON.valueToTree(shown((byte[]) value)));
        case "error_handling" ->
            sent.putObject(name).put("output", ((Row) value).getString("output"));
        case "refresh_interval_secs" -> sent.put(name, ((Long) value).intValue());
        default -> sent.set(name, JSON.valueToTree(value));
      }
    }
    return sent;
  }

  private static List<String> shown(byte[] schema) throws IOException {
    return SchemaTranslation.schemaFromProto(SchemaApi.Schema.parseFrom(schema))
        .getFields()
        .stream()
        .map(field -> field.getName() + ": " + PortableTypes.nameOf(field.getType()))
        .toList();
  }

  private static JsonNode withOpaqueNamesOnly(JsonNode config) {
    ObjectNode copy = config.deepCopy();
    if (copy.has("opaque")) {
      Set<String> sorted = new TreeSet<>(names(copy.get("opaque")));
      copy.set("opaque", JSON.valueToTree(sorted));
    }
    return copy;
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static Map<String, String> texts(JsonNode object) {
    @SuppressWarnings("unchecked") // the golden files hold texts here
    Map<String, String> texts = JSON.convertValue(object, Map.class);
    return texts;
  }
}
