package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** The client names nothing of Beam that differs between the versions it works with. */
@RunWith(JUnit4.class)
public class BeamVersionsTest {

  @Test
  public void classesNameNothingOfBeamThatIsNotApi() throws IOException, URISyntaxException {
    List<Path> classes = classes();
    assertTrue(classes.size() > 50);
    for (Path file : classes) {
      String constants = Files.readString(file, ISO_8859_1);
      assertTrue(file.toString(), !constants.contains("org/apache/beam/vendor/"));
    }
  }

  @Test
  public void onlyOneClassAsksWhetherATypeIsNullable() throws IOException, URISyntaxException {
    List<String> asking =
        classes().stream()
            .filter(file -> read(file).contains("getNullable"))
            .map(file -> file.getFileName().toString())
            .toList();
    assertEquals(List.of("FieldTypes.class"), asking);
  }

  private static String read(Path file) {
    try {
      return Files.readString(file, ISO_8859_1);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static List<Path> classes() throws IOException, URISyntaxException {
    Path root =
        Path.of(RunEnsemble.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (Stream<Path> files = Files.walk(root)) {
      return files.filter(file -> file.toString().endsWith(".class")).toList();
    }
  }
}
