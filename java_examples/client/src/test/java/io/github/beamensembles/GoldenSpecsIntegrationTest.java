package io.github.beamensembles;

import static java.util.stream.Collectors.toCollection;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/** Every mistake of {@code tests/golden/specs_invalid} reaches a Java caller whole. */
@RunWith(Parameterized.class)
public class GoldenSpecsIntegrationTest {

  private static final String FOLDER = "specs_invalid";

  private static final Map<String, FieldType> TYPES =
      Map.of("array<double>", FieldType.array(FieldType.DOUBLE));

  @Parameters(name = "{0}")
  public static List<String> names() throws IOException {
    return Golden.files(FOLDER, ".yaml").stream()
        .map(file -> file.getFileName().toString().replace(".yaml", ""))
        .toList();
  }

  @Rule
  public final TestPipeline pipeline = TestPipeline.create().enableAbandonedNodeEnforcement(false);

  private final String text;
  private final JsonNode expected;

  public GoldenSpecsIntegrationTest(String name) throws IOException {
    Path folder = Golden.folder(FOLDER);
    text = Files.readString(folder.resolve(name + ".yaml"));
    expected = Golden.json(folder.resolve(name + ".expected.json"));
  }

  @Before
  public void needsTheService() {
    RealRunner.assumed(RunEnsemble.ADDRESS_VARIABLE);
  }

  @Test
  public void codesAndPathsAreThose() {
    PCollection<Row> rows = pipeline.apply(Create.empty(inputSchema()));
    RunEnsemble ensemble = RunEnsemble.fromText(text, Golden.folder(FOLDER).toString());

    EnsembleException error = assertThrows(EnsembleException.class, () -> rows.apply(ensemble));

    assertEquals(wanted(), found(error));
    assertFalse(error.getMessage(), error.getMessage().contains("Traceback"));
  }

  /** Where a golden file does not care, the rows have one field that most of them read. */
  private Schema inputSchema() {
    Schema.Builder schema = Schema.builder();
    if (!expected.has("input")) {
      return schema.addArrayField("x", FieldType.DOUBLE).build();
    }
    expected
        .get("input")
        .fields()
        .forEachRemaining(
            field -> schema.addField(field.getKey(), TYPES.get(field.getValue().asText())));
    return schema.build();
  }

  private Set<String> wanted() {
    Set<String> wanted = new TreeSet<>();
    expected
        .get("problems")
        .forEach(it -> wanted.add(it.get("code").asText() + " " + it.get("path").asText()));
    return wanted;
  }

  private static Set<String> found(EnsembleException error) {
    return error.problems().stream()
        .map(it -> it.code() + " " + it.path())
        .collect(toCollection(TreeSet::new));
  }
}
