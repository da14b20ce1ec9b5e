package io.github.beamensembles;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.beam.sdk.coders.CoderException;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.util.CoderUtils;
import org.apache.beam.sdk.values.Row;

/**
 * The configuration that is sent to the service: a row that has only the fields that are set, so
 * that an older service is asked for nothing that it does not know.
 */
final class ConfigRow {

  static final String IDENTIFIER = "beam:schematransform:io.github.beamensembles:run_ensemble:v1";

  private static final String CLIENT = "java " + version();
  private static final Row ERROR_HANDLING =
      Row.withSchema(Schema.builder().addStringField("output").build())
          .addValue(Answer.ERRORS)
          .build();

  private ConfigRow() {}

  /**
   * Says what is asked of the service.
   *
   * @param wanted the fields of the caller's own type; absent where rows are taken as they come
   */
  static Row of(
      RunEnsemble ensemble,
      Crossing<?> crossing,
      Optional<Schema> wanted,
      boolean withErrors,
      Encoding encoding) {
    Builder config = new Builder();
    ensemble.source().describe(config);
    config.map("parameters", ensemble.parameters()).map("columns", ensemble.columns());
    ensemble.prefix().ifPresent(it -> config.string("prefix", it));
    ensemble.passThrough().ifPresent(it -> config.strings("pass_through", crossing.asked(it)));
    if (ensemble.provenance()) {
      config.add("provenance", FieldType.BOOLEAN, true);
    }
    ensemble
        .refreshInterval()
        .ifPresent(it -> config.add("refresh_interval_secs", FieldType.INT64, it.toSeconds()));
    if (withErrors) {
      config.row("error_handling", ERROR_HANDLING);
    }
    if (encoding == Encoding.ARROW) {
      config.string("encoding", "arrow").schema("input_schema", crossing.sentSchema());
    }
    wanted.ifPresent(it -> config.schema("output_schema", crossing.asked(it)));
    return config.map("opaque", crossing.opaqueTypes()).string("client", CLIENT).build();
  }

  /** The payload of the external transform that {@code config} configures. */
  static byte[] toPayload(Row config) {
    // A SchemaTransformPayload.
    return new ProtoWriter()
        .string(1, IDENTIFIER)
        .bytes(2, SchemaTranslation.schemaToProto(config.getSchema(), true).toByteArray())
        .bytes(3, encode(config))
        .written();
  }

  private static byte[] encode(Row row) {
    try {
      return CoderUtils.encodeToByteArray(RowCoder.of(row.getSchema()), row);
    } catch (CoderException e) {
      throw new IllegalStateException("a row of plain values always has an encoding", e);
    }
  }

  private static String version() {
    try (InputStream file = ConfigRow.class.getResourceAsStream("client.properties")) {
      Properties properties = new Properties();
      properties.load(file);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Collects the fields that are set, in the order in which they are. */
  static final class Builder {
    private static final FieldType TEXTS = FieldType.map(FieldType.STRING, FieldType.STRING);

    private final Schema.Builder schema = Schema.builder();
    private final List<Object> values = new ArrayList<>();

    Builder string(String name, String value) {
      return add(name, FieldType.STRING, value);
    }

    Builder strings(String name, List<String> value) {
      return add(name, FieldType.array(FieldType.STRING), value);
    }

    /** An empty map says nothing and is left out. */
    Builder map(String name, Map<String, String> value) {
      return value.isEmpty() ? this : add(name, TEXTS, value);
    }

    Builder schema(String name, Schema value) {
      byte[] proto = SchemaTranslation.schemaToProto(value, true).toByteArray();
      return add(name, FieldType.BYTES, proto);
    }

    Builder row(String name, Row value) {
      return add(name, FieldType.row(value.getSchema()), value);
    }

    Row build() {
      return Row.withSchema(schema.build()).addValues(values).build();
    }

    Builder add(String name, FieldType type, Object value) {
      schema.addField(name, type);
      values.add(value);
      return this;
    }
  }
}
