package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where an ensemble's text comes from. */
sealed interface EnsembleSource extends Serializable {

  /** How the name of a bundle ends, which only the service reads. */
  String BUNDLE = ".ensemble.zip";

  /** At the start of a line of YAML, or anywhere in JSON. */
  Pattern NAME =
      Pattern.compile("(?m)(?:^|\\{\\s*|,\\s*)[\"']?ensemble[\"']?\\s*:\\s*[\"']?([\\w-]+)");

  /** Puts what the service needs to know into the configuration. */
  void describe(ConfigRow.Builder config);

  /** The folder that a service of our own making may load pickled models from, or nothing. */
  String folder();

  /** The text of the file, where this program has it. */
  Optional<String> text();

  /** What people call it. */
  String shown();

  /** The ensemble's name, or that of its file where only the service reads it. */
  String name();

  /** Finds the name in the text of an ensemble file, without reading all of it. */
  static Optional<String> nameIn(String text) {
    Matcher found = NAME.matcher(text);
    return found.find() ? Optional.of(found.group(1)) : Optional.empty();
  }

  /** The last part of a path, without what follows its first dot. */
  static String stem(String path) {
    String file = path.substring(path.lastIndexOf('/') + 1);
    return file.contains(".") ? file.substring(0, file.indexOf('.')) : file;
  }

  /** A file that this program reads; the service reads the models that lie beside it. */
  record LocalFile(String path) implements EnsembleSource {

    public LocalFile {
      if (path.contains("://")) {
        throw new IllegalArgumentException(
            "fromFile reads files of this machine; for '" + path + "' use fromUri");
      }
    }

    @Override
    public void describe(ConfigRow.Builder config) {
      if (path.endsWith(BUNDLE)) {
        config.string("spec_uri", absolute().toString());
      } else {
        config.string("spec", read()).string("base_uri", folder());
      }
    }

    @Override
    public String folder() {
      return absolute().getParent().toString();
    }

    @Override
    public String shown() {
      return path;
    }

    @Override
    public String name() {
      if (path.endsWith(BUNDLE)) {
        return stem(path);
      }
      try {
        return nameIn(read()).orElseGet(() -> stem(path));
      } catch (EnsembleException e) {
        return stem(path); // told when the file is needed
      }
    }

    @Override
    public Optional<String> text() {
      return path.endsWith(BUNDLE) ? Optional.empty() : Optional.of(read());
    }

    private Path absolute() {
      return Path.of(path).toAbsolutePath().normalize();
    }

    private String read() {
      Path file = absolute();
      if (!Files.exists(file)) {
        throw unreadable("missing_file", "there is no file '" + file + "'");
      }
      try {
        return Files.readString(file);
      } catch (CharacterCodingException e) {
        throw unreadable("unreadable_file", "the file '" + file + "' is not text in UTF-8");
      } catch (IOException e) {
        throw unreadable("unreadable_file", "the file '" + file + "' cannot be read: " + e);
      }
    }

    private static EnsembleException unreadable(String code, String message) {
      return EnsembleException.of(
          "the ensemble file cannot be read", List.of(new Problem(code, "$", message)));
    }
  }

  /** Text that the program has already; URIs in it are relative to {@code baseUri}. */
  record Text(String written, String baseUri) implements EnsembleSource {

    public Text {
      if (written == null || written.isBlank()) {
        throw new IllegalArgumentException("the text given to fromText is empty");
      }
      baseUri = baseUri == null ? "" : baseUri;
    }

    @Override
    public void describe(ConfigRow.Builder config) {
      config.string("spec", written);
      if (!baseUri.isEmpty()) {
        config.string("base_uri", baseUri);
      }
    }

    @Override
    public String folder() {
      return baseUri;
    }

    @Override
    public String shown() {
      String place = baseUri.isEmpty() ? "" : ", relative to '" + baseUri + "'";
      return "text with SHA-256 " + digest() + place;
    }

    @Override
    public String name() {
      return nameIn(written).orElse("text");
    }

    @Override
    public Optional<String> text() {
      return Optional.of(written);
    }

    private String digest() {
      try {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(written.getBytes(UTF_8));
        return HexFormat.of().formatHex(hash);
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("each Java has SHA-256", e);
      }
    }
  }

  /** A file that the service reads. */
  record Uri(String uri) implements EnsembleSource {

    @Override
    public void describe(ConfigRow.Builder config) {
      config.string("spec_uri", uri);
    }

    @Override
    public Optional<String> text() {
      return Optional.empty();
    }

    @Override
    public String folder() {
      return uri.substring(0, Math.max(0, uri.lastIndexOf('/')));
    }

    @Override
    public String name() {
      return stem(uri);
    }

    @Override
    public String shown() {
      return uri;
    }
  }
}
