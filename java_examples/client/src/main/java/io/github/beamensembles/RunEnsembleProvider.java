package io.github.beamensembles;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.transforms.SchemaTransform;
import org.apache.beam.sdk.schemas.transforms.SchemaTransformProvider;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;

/**
 * {@link RunEnsemble} for programs that know transforms by their identifiers and configurations,
 * such as Beam's expansion service for Java. {@link java.util.ServiceLoader} finds it.
 *
 * <p>One of {@code file}, {@code spec} and {@code spec_uri} says which ensemble it is. All other
 * fields may be left out. Without {@code error_handling} the only output is {@code output}.
 */
public final class RunEnsembleProvider implements SchemaTransformProvider {

  /** The input. */
  public static final String INPUT = "input";

  private static final FieldType TEXTS = FieldType.map(FieldType.STRING, FieldType.STRING);
  private static final Schema ERROR_HANDLING = Schema.builder().addStringField("output").build();
  private static final Schema CONFIGURATION =
      Schema.builder()
          .addField(field("file", FieldType.STRING, "An ensemble file on this machine"))
          .addField(field("spec", FieldType.STRING, "The text of an ensemble file"))
          .addField(field("base_uri", FieldType.STRING, "What URIs in 'spec' are relative to"))
          .addField(field("spec_uri", FieldType.STRING, "An ensemble file that the service reads"))
          .addField(field("expansion_service", FieldType.STRING, "The service, host:port"))
          .addField(field("parameters", TEXTS, "Values for ${name} in the file"))
          .addField(field("columns", TEXTS, "The field that an input column of the file is"))
          .addField(field("prefix", FieldType.STRING, "Before the name of each added column"))
          .addField(field("pass_through", FieldType.array(FieldType.STRING), "Fields to keep"))
          .addField(field("provenance", FieldType.BOOLEAN, "Adds the column 'provenance'"))
          .addField(field("refresh_interval_secs", FieldType.INT64, "Looks for new models"))
          .addField(field("encoding", FieldType.STRING, "'rows' or 'arrow'"))
          .addField(
              field(
                  "error_handling",
                  FieldType.row(ERROR_HANDLING),
                  "The name of the output of rows that cannot be scored"))
          .build();

  private static Schema.Field field(String name, FieldType type, String description) {
    return Schema.Field.nullable(name, type).withDescription(description);
  }

  @Override
  public String identifier() {
    return ConfigRow.IDENTIFIER;
  }

  @Override
  public String description() {
    return "Runs an ensemble of models on every row: the same rows come out with the answers added.";
  }

  @Override
  public Schema configurationSchema() {
    return CONFIGURATION;
  }

  @Override
  public List<String> inputCollectionNames() {
    return List.of(INPUT);
  }

  @Override
  public List<String> outputCollectionNames() {
    return List.of(RunEnsemble.OUTPUT, RunEnsemble.ERRORS);
  }

  @Override
  public SchemaTransform from(Row configuration) {
    return new Configured(ensemble(configuration), errors(configuration));
  }

  private static RunEnsemble ensemble(Row row) {
    Optional<Duration> refresh =
        RunEnsembleProvider.<Long>value(row, "refresh_interval_secs").map(Duration::ofSeconds);
    RunEnsemble ensemble = source(row);
    ensemble =
        RunEnsembleProvider.<String>value(row, "expansion_service")
            .map(ensemble::withExpansionService)
            .orElse(ensemble);
    ensemble =
        RunEnsembleProvider.<Map<String, String>>value(row, "parameters")
            .map(ensemble::withParameters)
            .orElse(ensemble);
    ensemble =
        RunEnsembleProvider.<Map<String, String>>value(row, "columns")
            .map(ensemble::withColumns)
            .orElse(ensemble);
    ensemble =
        RunEnsembleProvider.<String>value(row, "prefix").map(ensemble::withPrefix).orElse(ensemble);
    ensemble =
        RunEnsembleProvider.<Collection<String>>value(row, "pass_through")
            .map(fields -> fields.toArray(String[]::new))
            .map(ensemble::withPassThrough)
            .orElse(ensemble);
    ensemble = refresh.map(ensemble::withRefreshInterval).orElse(ensemble);
    ensemble =
        RunEnsembleProvider.<String>value(row, "encoding")
            .map(RunEnsembleProvider::encoding)
            .map(ensemble::withEncoding)
            .orElse(ensemble);
    boolean provenance = RunEnsembleProvider.<Boolean>value(row, "provenance").orElse(false);
    return provenance ? ensemble.withProvenance() : ensemble;
  }

  private static RunEnsemble source(Row row) {
    Optional<String> file = value(row, "file");
    Optional<String> spec = value(row, "spec");
    Optional<String> uri = value(row, "spec_uri");
    Optional<String> base = value(row, "base_uri");
    if (Stream.of(file, spec, uri).filter(Optional::isPresent).count() != 1) {
      throw new IllegalArgumentException(
          "the configuration must have one of 'file', 'spec' and 'spec_uri', which name the"
              + " ensemble");
    }
    if (base.isPresent() && spec.isEmpty()) {
      throw new IllegalArgumentException("'base_uri' requires 'spec'");
    }
    return file.map(RunEnsemble::fromFile)
        .or(() -> uri.map(RunEnsemble::fromUri))
        .orElseGet(() -> RunEnsemble.fromText(spec.orElseThrow(), base.orElse("")));
  }

  private static Encoding encoding(String name) {
    return switch (name) {
      case "rows" -> Encoding.ROWS;
      case "arrow" -> Encoding.ARROW;
      default ->
          throw new IllegalArgumentException(
              "'encoding' must be 'rows' or 'arrow', not '" + name + "'");
    };
  }

  private static Optional<String> errors(Row row) {
    Optional<Row> handling = value(row, "error_handling");
    return handling.map(it -> Given.notNull(it.getString("output"), "error_handling.output"));
  }

  /** Configurations may leave out fields. */
  @SuppressWarnings("unchecked") // the schema says which type it is
  private static <T> Optional<T> value(Row row, String name) {
    return row.getSchema().hasField(name)
        ? Optional.ofNullable((T) row.getValue(name))
        : Optional.empty();
  }

  /** The transform of one configuration. */
  private static final class Configured extends SchemaTransform {
    private final transient RunEnsemble ensemble;
    private final transient Optional<String> errors;

    private Configured(RunEnsemble ensemble, Optional<String> errors) {
      this.ensemble = ensemble;
      this.errors = errors;
    }

    @Override
    public PCollectionRowTuple expand(PCollectionRowTuple input) {
      PCollection<Row> rows = input.get(INPUT);
      if (errors.isEmpty()) {
        return PCollectionRowTuple.of(RunEnsemble.OUTPUT, rows.apply(ensemble));
      }
      PCollectionRowTuple both = rows.apply(ensemble.withErrors());
      return PCollectionRowTuple.of(RunEnsemble.OUTPUT, both.get(RunEnsemble.OUTPUT))
          .and(errors.get(), both.get(RunEnsemble.ERRORS));
    }
  }
}
