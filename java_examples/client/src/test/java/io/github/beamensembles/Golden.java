package io.github.beamensembles;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The data that the tests of all languages read. */
final class Golden {

  private static final Path ROOT = Path.of("../../tests/golden").toAbsolutePath().normalize();

  private Golden() {}

  static Path folder(String name) {
    return ROOT.resolve(name);
  }

  /** The files of a folder of golden data whose names end so, in order. */
  static List<Path> files(String folder, String ending) throws IOException {
    try (Stream<Path> files = Files.list(folder(folder))) {
      return files.filter(file -> file.toString().endsWith(ending)).sorted().toList();
    }
  }

  static JsonNode json(Path file) throws IOException {
    return new ObjectMapper().readTree(file.toFile());
  }

  static JsonNode parsed(String json) {
    try {
      return new ObjectMapper().readTree(json);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }
}
