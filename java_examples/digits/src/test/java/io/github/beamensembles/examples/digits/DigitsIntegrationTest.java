package io.github.beamensembles.examples.digits;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Runs the example on the real service and Prism, where the environment names them. */
@RunWith(JUnit4.class)
public class DigitsIntegrationTest {

  private static final Path ENSEMBLE =
      Path.of("../../examples/digits/digits.yaml").toAbsolutePath();

  /** A nought from scikit-learn's digits. */
  private static final String NOUGHT =
      """
      0, 0, 5, 13, 9, 1, 0, 0,  0, 0, 13, 15, 10, 15, 5, 0,
      0, 3, 15, 2, 0, 11, 8, 0,  0, 4, 12, 0, 0, 8, 8, 0,
      0, 5, 8, 0, 0, 9, 8, 0,  0, 4, 11, 0, 1, 12, 7, 0,
      0, 2, 14, 5, 10, 12, 0, 0,  0, 0, 6, 13, 10, 0, 0, 0""";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private static String assumed(String variable) {
    String value = System.getenv(variable);
    assumeTrue(variable + " is not set: it comes with make test-integration", value != null);
    return value;
  }

  @Test
  public void aNoughtIsNamed() throws IOException {
    String service = assumed("BEAM_ENSEMBLES_ADDR");
    String prism = assumed("BEAM_ENSEMBLES_PRISM");
    assumeTrue(
        "the models are not trained: make demo does that",
        Files.exists(ENSEMBLE.resolveSibling("models")));
    Path input = folder.getRoot().toPath().resolve("in.jsonl");
    Path output = folder.getRoot().toPath().resolve("out.jsonl");
    String image =
        "{\"id\": 7, \"pixels\": [" + NOUGHT.replace('\n', ' ') + "], \"target\": \"0\"}";
    Files.writeString(input, image + "\n");

    Digits.main(
        new String[] {
          "--runner=PortableRunner",
          "--jobEndpoint=" + prism,
          "--expansionService=" + service,
          "--ensemble=" + ENSEMBLE,
          "--input=" + input,
          "--output=" + output
        });

    List<String> lines = Files.readAllLines(output);
    assertEquals(1, lines.size());
    JsonNode answer = new ObjectMapper().readTree(lines.get(0));
    assertEquals(7, answer.get("id").asLong());
    assertEquals("0", answer.get("label").asText());
    assertTrue(answer.toString(), answer.get("confidence").asDouble() > 0.5);
    assertEquals("0", answer.get("forest_label").asText());
    assertEquals("0", answer.get("boost_label").asText());
    assertEquals("0", answer.get("network_label").asText());
  }
}
