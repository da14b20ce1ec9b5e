package io.github.beamensembles;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Optional;

/**
 * A file, and the method or the environment variable that names it.
 *
 * @param path the file
 * @param source what names it, in the caller's words
 */
record Setting(String path, String source) {

  private static final int LONGEST = 1 << 20;

  /** Returns the caller's setting, else the environment's; empty if neither sets it. */
  static Optional<Setting> of(
      Optional<String> given, String method, Map<String, String> environment, String variable) {
    return given
        .map(path -> new Setting(path, method))
        .or(
            () ->
                Optional.ofNullable(environment.get(variable)).map(it -> new Setting(it, variable)))
        .filter(setting -> !setting.path().isEmpty());
  }

  /** Reads the file; each byte becomes one character. */
  String read() {
    try {
      if (Files.readAttributes(Path.of(path), BasicFileAttributes.class).isOther()) {
        // The writer of a pipe would be waited for.
        throw new IOException("it is not a regular file");
      }
      try (InputStream file = Files.newInputStream(Path.of(path))) {
        return new String(file.readNBytes(LONGEST), StandardCharsets.ISO_8859_1);
      }
    } catch (NoSuchFileException e) {
      throw unreadable("there is no such file", e);
    } catch (AccessDeniedException e) {
      throw unreadable("permission denied", e);
    } catch (IOException | InvalidPathException e) {
      throw unreadable(e.getMessage(), e);
    }
  }

  /** Returns an error that says what is wrong with the file, and what to do. */
  EnsembleException wrong(String what) {
    return new EnsembleException(this + " " + what);
  }

  @Override
  public String toString() {
    return "the file '" + path + "' of " + source;
  }

  private EnsembleException unreadable(String why, Exception cause) {
    return new EnsembleException(
        this + " cannot be read: " + why + "; correct the path or the file's permissions", cause);
  }
}
