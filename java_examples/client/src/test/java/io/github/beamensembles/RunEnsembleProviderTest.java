package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.transforms.SchemaTransformProvider;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link RunEnsembleProvider}. */
@RunWith(JUnit4.class)
public class RunEnsembleProviderTest {

  private static final Schema SCHEMA = Schema.builder().addInt64Field("id").build();

  @Rule public final FakeService service = new FakeService("ensemble 'e' is not valid");

  @Rule
  public final TestPipeline pipeline = TestPipeline.create().enableAbandonedNodeEnforcement(false);

  private static SchemaTransformProvider provider() {
    return ServiceLoader.load(SchemaTransformProvider.class).stream()
        .filter(it -> it.type() == RunEnsembleProvider.class)
        .findFirst()
        .orElseThrow()
        .get();
  }

  private static Row.FieldValueBuilder configuration() {
    return Row.withSchema(provider().configurationSchema()).withFieldValues(Map.of());
  }

  @Test
  public void everySettingIsSent() throws IOException {
    assertEquals(
        "beam:schematransform:io.github.beamensembles:run_ensemble:v1", provider().identifier());
    Schema handling =
        provider().configurationSchema().getField("error_handling").getType().getRowSchema();
    Row row =
        configuration()
            .withFieldValue("spec", "ensemble: e")
            .withFieldValue("base_uri", "/models")
            .withFieldValue("expansion_service", service.address())
            .withFieldValue("parameters", Map.of("p", "1"))
            .withFieldValue("columns", Map.of("x", "id"))
            .withFieldValue("prefix", "e_")
            .withFieldValue("pass_through", List.of("id"))
            .withFieldValue("provenance", true)
            .withFieldValue("refresh_interval_secs", 60L)
            .withFieldValue("encoding", "rows")
            .withFieldValue("error_handling", Row.withSchema(handling).addValue("bad").build())
            .build();
    PCollectionRowTuple input =
        PCollectionRowTuple.of(
            RunEnsembleProvider.INPUT,
            pipeline.apply(
                Create.of(Row.withSchema(SCHEMA).addValue(1L).build()).withRowSchema(SCHEMA)));

    assertThrows(EnsembleException.class, () -> input.apply(provider().from(row)));

    Row sent = service.config();
    assertEquals("ensemble: e", sent.getString("spec"));
    assertEquals("/models", sent.getString("base_uri"));
    assertEquals(Map.of("p", "1"), sent.getMap("parameters"));
    assertEquals(Map.of("x", "id"), sent.getMap("columns"));
    assertEquals("e_", sent.getString("prefix"));
    assertEquals(List.of("id"), List.copyOf(sent.getArray("pass_through")));
    assertEquals(true, sent.getBoolean("provenance"));
    assertEquals(Long.valueOf(60), sent.getInt64("refresh_interval_secs"));
    assertEquals("errors", sent.getRow("error_handling").getString("output"));
  }

  private static String refusal(Row row) {
    return assertThrows(IllegalArgumentException.class, () -> provider().from(row)).getMessage();
  }

  @Test
  public void aConfigurationNamesOneEnsemble() {
    Row none = configuration().build();
    Row two = configuration().withFieldValue("file", "a").withFieldValue("spec", "b").build();
    Row base = configuration().withFieldValue("file", "a").withFieldValue("base_uri", "b").build();
    Row encoding =
        configuration().withFieldValue("file", "a").withFieldValue("encoding", "csv").build();

    assertTrue(refusal(none).contains("one of 'file', 'spec' and 'spec_uri'"));
    assertTrue(refusal(two).contains("one of 'file', 'spec' and 'spec_uri'"));
    assertTrue(refusal(base).contains("'base_uri' requires 'spec'"));
    assertTrue(refusal(encoding).contains("'rows' or 'arrow', not 'csv'"));
  }
}
