package io.github.beamensembles;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Where an ensemble's text comes from. */
sealed interface EnsembleSource extends Serializable {

  /** How the name of a bundle ends, which only the service reads. */
  String BUNDLE = ".ensemble.zip";

  /** Puts what the service needs to know into the configuration. */
  void describe(ConfigRow.Builder config);

  /** The folder that a service of our own making may load pickled models from, or nothing. */
  String folder();

  /** What people call it. */
  String shown();

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
  record Text(String text, String baseUri) implements EnsembleSource {

    public Text {
      if (text == null || text.isBlank()) {
        throw new IllegalArgumentException("the text given to fromText is empty");
      }
      baseUri = baseUri == null ? "" : baseUri;
    }

    @Override
    public void describe(ConfigRow.Builder config) {
      config.string("spec", text);
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
      return "text, relative to '" + baseUri + "'";
    }
  }

  /** A file that the service reads. */
  record Uri(String uri) implements EnsembleSource {

    @Override
    public void describe(ConfigRow.Builder config) {
      config.string("spec_uri", uri);
    }

    @Override
    public String folder() {
      return uri.substring(0, Math.max(0, uri.lastIndexOf('/')));
    }

    @Override
    public String shown() {
      return uri;
    }
  }
}
