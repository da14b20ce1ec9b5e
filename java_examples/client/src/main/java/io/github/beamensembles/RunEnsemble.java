package io.github.beamensembles;

import com.google.auto.value.AutoValue;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.transforms.PTransform;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.transforms.display.DisplayData;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.PInput;
import org.apache.beam.sdk.values.POutput;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TupleTag;
import org.jspecify.annotations.Nullable;

/**
 * Runs an ensemble of models on every row: rows go in, the same rows come out with the answers
 * added.
 *
 * <pre>{@code
 * PCollection<Row> scored =
 *     rows.apply(RunEnsemble.fromFile("digits.yaml").withExpansionService("localhost:8097"));
 * }</pre>
 *
 * <p>The input is any collection with a schema. Without an address, and where the environment
 * variable {@value #ADDRESS_VARIABLE} is not set, a service is started on this machine and stopped
 * with the program.
 *
 * <p>A row that cannot be scored fails its bundle, unless its failure is asked for:
 *
 * <pre>{@code
 * PCollectionRowTuple both = rows.apply(RunEnsemble.fromFile("digits.yaml").withErrors());
 * PCollection<Row> scored = both.get("output");
 * PCollection<Row> failed = both.get("errors"); // element, ensemble, node, code, msg, stack
 * }</pre>
 *
 * <p>Scored rows as objects of a type that has a schema, which may name some of the fields only:
 *
 * <pre>{@code
 * PCollection<Scored> scored = rows.apply(RunEnsemble.fromFile("digits.yaml").as(Scored.class));
 * }</pre>
 *
 * <p>Keyed rows come out keyed. {@link #keyed} stands last:
 *
 * <pre>{@code
 * PCollection<KV<String, Row>> scored =
 *     keyedRows.apply(RunEnsemble.fromFile("digits.yaml").keyed());
 * }</pre>
 *
 * <p>What is wrong with the ensemble, the call or the input is found while the pipeline is built,
 * and thrown as an {@link EnsembleException} that lists all of it.
 */
@AutoValue
public abstract class RunEnsemble extends PTransform<PCollection<?>, PCollection<Row>> {

  /** The environment variable that names the service to use: {@code host:port}. */
  public static final String ADDRESS_VARIABLE = "BEAM_ENSEMBLES_ADDR";

  /** The name of the output of scored rows, of {@link WithErrors}. */
  public static final String OUTPUT = Answer.OUTPUT;

  /** The name of the output of rows that could not be scored, of {@link WithErrors}. */
  public static final String ERRORS = Answer.ERRORS;

  /**
   * The tag of the output of scored rows, for collections of several outputs that you make of them:
   * {@code PCollectionTuple.of(OUTPUT_TAG, scored).and(ERRORS_TAG, failed)}.
   */
  public static final TupleTag<Row> OUTPUT_TAG = new TupleTag<>(OUTPUT) {};

  /** The tag of the output of rows that could not be scored. */
  public static final TupleTag<Row> ERRORS_TAG = new TupleTag<>(ERRORS) {};

  abstract EnsembleSource source();

  abstract Optional<String> expansionService();

  abstract Optional<TlsFiles> tls();

  abstract Optional<String> tokenFile();

  abstract Map<String, String> parameters();

  abstract Map<String, String> columns();

  abstract Optional<String> prefix();

  abstract Optional<List<String>> passThrough();

  abstract boolean provenance();

  abstract Optional<Duration> refreshInterval();

  abstract Optional<Encoding> encoding();

  abstract Timeouts timeouts();

  abstract Builder toBuilder();

  @AutoValue.Builder
  abstract static class Builder {
    abstract Builder source(EnsembleSource source);

    abstract Builder expansionService(String address);

    abstract Builder tls(TlsFiles files);

    abstract Builder tokenFile(String path);

    abstract Builder parameters(Map<String, String> parameters);

    abstract Builder columns(Map<String, String> columns);

    abstract Builder prefix(String prefix);

    abstract Builder passThrough(List<String> fields);

    abstract Builder provenance(boolean wanted);

    abstract Builder refreshInterval(Duration interval);

    abstract Builder encoding(Encoding encoding);

    abstract Builder timeouts(Timeouts timeouts);

    abstract RunEnsemble build();
  }

  /**
   * Uses the ensemble file at {@code path} on this machine. URIs in it are relative to its folder,
   * which the service and the workers must be able to read. Of a bundle, which {@code
   * beam-ensembles pack} makes, the path is sent: the service reads it there, and the workers get
   * it with the pipeline.
   */
  public static RunEnsemble fromFile(String path) {
    return from(new EnsembleSource.LocalFile(Given.notNull(path, "path")));
  }

  /**
   * Uses the text of an ensemble file, YAML or JSON.
   *
   * @param baseUri the absolute folder or URI that URIs in the text are relative to; empty or null
   *     where there are none
   */
  public static RunEnsemble fromText(String text, @Nullable String baseUri) {
    return from(new EnsembleSource.Text(text, baseUri));
  }

  /** Uses an ensemble file that the service reads, from its own disk or a file system of Beam. */
  public static RunEnsemble fromUri(String uri) {
    return from(new EnsembleSource.Uri(Given.notNull(uri, "uri")));
  }

  private static RunEnsemble from(EnsembleSource source) {
    return new AutoValue_RunEnsemble.Builder()
        .source(source)
        .parameters(Map.of())
        .columns(Map.of())
        .provenance(false)
        .timeouts(Timeouts.DEFAULT)
        .build();
  }

  /**
   * Asks the service at {@code address}, which is {@code host:port}. A service on another machine
   * needs {@link #withTls(String)}, and mostly {@link #withTokenFile}.
   */
  public RunEnsemble withExpansionService(String address) {
    return toBuilder()
        .expansionService(ServiceAddress.checked(address, "the address of withExpansionService"))
        .build();
  }

  /**
   * Uses TLS to the service, which must show a certificate that a CA of this machine signed. Where
   * the environment variable {@code BEAM_ENSEMBLES_TLS_CA} is set, it names the CA.
   */
  public RunEnsemble withTls() {
    return withTls(new TlsFiles(Optional.empty(), Optional.empty(), Optional.empty()));
  }

  /**
   * Uses TLS to the service.
   *
   * <p>Without it, TLS is used where one of the environment variables {@code
   * BEAM_ENSEMBLES_TLS_CA}, {@code BEAM_ENSEMBLES_TLS_CERT} and {@code BEAM_ENSEMBLES_TLS_KEY} is
   * set. Each holds a file, and counts where no method sets that file.
   *
   * @param ca the certificate authorities that may sign the service's certificate, a PEM file;
   *     {@code "system"} means those that this Java trusts
   */
  public RunEnsemble withTls(String ca) {
    return withTls(
        new TlsFiles(Optional.of(Given.notNull(ca, "ca")), Optional.empty(), Optional.empty()));
  }

  /**
   * Uses TLS to a service that requires a client certificate.
   *
   * @param ca the certificate authorities that may sign the service's certificate, a PEM file;
   *     {@code "system"} means those that this Java trusts
   * @param certificate this client's certificate, a PEM file
   * @param key the certificate's private key, a PEM file in PKCS #8 form, not encrypted
   */
  public RunEnsemble withTls(String ca, String certificate, String key) {
    return withTls(
        new TlsFiles(
            Optional.of(Given.notNull(ca, "ca")),
            Optional.of(Given.notNull(certificate, "certificate")),
            Optional.of(Given.notNull(key, "key"))));
  }

  private RunEnsemble withTls(TlsFiles files) {
    return toBuilder().tls(files).build();
  }

  /**
   * Sends the token in a file to the service, over TLS or to a loopback address only. The file is
   * read again for each request, and newlines at its end are ignored. Without this method, the
   * environment variable {@code BEAM_ENSEMBLES_TOKEN_FILE} names the file.
   */
  public RunEnsemble withTokenFile(String path) {
    return toBuilder().tokenFile(Given.notNull(path, "path")).build();
  }

  /** Fills the places in the file that say <code>${name}</code>. */
  public RunEnsemble withParameters(Map<String, String> parameters) {
    return toBuilder().parameters(entries(parameters, "parameters")).build();
  }

  /** Says which field of the rows an input column of the file is, where the names differ. */
  public RunEnsemble withColumns(Map<String, String> columnToField) {
    return toBuilder().columns(entries(columnToField, "columnToField")).build();
  }

  /** Puts {@code prefix} before the name of every added column. */
  public RunEnsemble withPrefix(String prefix) {
    return toBuilder().prefix(Given.notNull(prefix, "prefix")).build();
  }

  /** Keeps only these of the rows' own fields; without fields, none. */
  public RunEnsemble withPassThrough(String... fields) {
    return toBuilder().passThrough(texts(fields)).build();
  }

  /**
   * Adds the column {@code provenance}: a row of the ensemble's name, the digest of its file and
   * models, the arm of each route, and the nodes whose errors were ignored.
   */
  public RunEnsemble withProvenance() {
    return toBuilder().provenance(true).build();
  }

  /**
   * Has the workers check every interval whether the ensemble's file or a file that it names has
   * changed, and then go on with what is there now. Without it they keep what they started with.
   *
   * @param interval a whole number of seconds, at least one
   */
  public RunEnsemble withRefreshInterval(Duration interval) {
    Given.notNull(interval, "interval");
    if (interval.toSeconds() < 1 || interval.getNano() != 0) {
      throw new IllegalArgumentException(
          "a refresh interval is a whole number of seconds, at least one, not " + interval);
    }
    return toBuilder().refreshInterval(interval).build();
  }

  /**
   * Says how rows cross to the models and back. Where it is not said, {@link Encoding#ARROW} is
   * taken wherever it can be, and otherwise {@link Encoding#ROWS}.
   */
  public RunEnsemble withEncoding(Encoding encoding) {
    return toBuilder().encoding(Given.notNull(encoding, "encoding")).build();
  }

  /** Bounds the parts of the call to the service. */
  public RunEnsemble withTimeouts(Timeouts timeouts) {
    return toBuilder().timeouts(Given.notNull(timeouts, "timeouts")).build();
  }

  /** Gives the rows that cannot be scored as a second output instead of failing. */
  public WithErrors withErrors() {
    return new WithErrors(this);
  }

  /** Gives the scored rows as objects of a type that has a schema. */
  public <T> As<T> as(Class<T> type) {
    return new As<>(this, type);
  }

  /** Takes keyed rows and gives them keyed. */
  public <K> Keyed<K, Row> keyed() {
    return as(Row.class).keyed();
  }

  @Override
  public PCollection<Row> expand(PCollection<?> input) {
    return Call.ofRows(input).ask(this, RowType.rows()).scored();
  }

  /** The name of the step where the pipeline gives it none: it holds the ensemble's name. */
  @Override
  protected String getKindString() {
    return "RunEnsemble(" + source().name() + ")";
  }

  /** Refuses runners that cannot run an ensemble; {@link #expand} does as well. */
  @Override
  public void validate(
      @Nullable PipelineOptions options,
      Map<TupleTag<?>, PCollection<?>> inputs,
      Map<TupleTag<?>, PCollection<?>> outputs) {
    // TestPipeline runs with a copy of its options that lacks what has no form in JSON.
    boolean isReplaced =
        inputs.values().stream().anyMatch(it -> FakeModels.replace(it.getPipeline().getOptions()));
    if (options != null && !isReplaced) {
      RunnerCheck.check(options);
    }
  }

  @Override
  public void populateDisplayData(DisplayData.Builder builder) {
    super.populateDisplayData(builder);
    show(builder, false);
  }

  private void show(DisplayData.Builder builder, boolean withErrors) {
    builder.add(DisplayData.item("ensemble", source().shown()).withLabel("Ensemble"));
    show(builder, "expansionService", "Service", expansionService());
    show(builder, "encoding", "Encoding", encoding().map(Encoding::name));
    // Without their values, which may be secret.
    show(builder, "parameters", "Parameters", shown(parameters().keySet()));
    show(builder, "columns", "Columns", shown(columns().entrySet()));
    show(builder, "prefix", "Prefix", prefix());
    show(builder, "passThrough", "Fields that pass through", passThrough().map(List::toString));
    show(builder, "refreshInterval", "Refresh", refreshInterval().map(Duration::toString));
    show(builder, "tls", "TLS", tls().map(files -> files.ca().orElse("CAs of this machine")));
    show(builder, "tokenFile", "File of the token", tokenFile());
    show(builder, "timeouts", "Timeouts", Optional.of(timeouts().toString()));
    builder.add(DisplayData.item("provenance", provenance()).withLabel("Provenance"));
    builder.add(DisplayData.item("errors", withErrors).withLabel("Output of errors"));
  }

  private static void show(
      DisplayData.Builder builder, String key, String label, Optional<String> value) {
    value.ifPresent(it -> builder.add(DisplayData.item(key, it).withLabel(label)));
  }

  private static Optional<String> shown(Set<?> values) {
    return Optional.of(values).filter(it -> !it.isEmpty()).map(Object::toString);
  }

  private static Map<String, String> entries(Map<String, String> given, String name) {
    Given.notNull(given, name)
        .forEach(
            (key, value) -> {
              Given.notNull(key, "a key of " + name);
              Given.notNull(value, "the value of " + name + " for " + key);
            });
    return new TreeMap<>(given);
  }

  private static List<String> texts(String... given) {
    for (String field : Given.notNull(given, "fields")) {
      Given.notNull(field, "a field of withPassThrough");
    }
    return List.of(given);
  }

  /** A way to call an ensemble, which has its name, checks and settings. */
  abstract static class Way<InputT extends PInput, OutputT extends POutput>
      extends PTransform<InputT, OutputT> {
    final RunEnsemble ensemble;
    private final boolean withErrors;

    Way(RunEnsemble ensemble, boolean withErrors) {
      this.ensemble = ensemble;
      this.withErrors = withErrors;
    }

    @Override
    protected String getKindString() {
      return ensemble.getKindString();
    }

    @Override
    public void validate(
        @Nullable PipelineOptions options,
        Map<TupleTag<?>, PCollection<?>> inputs,
        Map<TupleTag<?>, PCollection<?>> outputs) {
      ensemble.validate(options, inputs, outputs);
    }

    @Override
    public void populateDisplayData(DisplayData.Builder builder) {
      super.populateDisplayData(builder);
      ensemble.show(builder, withErrors);
    }
  }

  /** Rows in; the outputs {@code output} and {@code errors}. */
  public static final class WithErrors extends Way<PCollection<?>, PCollectionRowTuple> {
    private WithErrors(RunEnsemble ensemble) {
      super(ensemble, true);
    }

    /** Gives the scored rows as objects of a type that has a schema. */
    public <T> AsWithErrors<T> as(Class<T> type) {
      return new AsWithErrors<>(ensemble, type);
    }

    /** Takes keyed rows and gives both outputs keyed. */
    public <K> KeyedWithErrors<K, Row> keyed() {
      return as(Row.class).keyed();
    }

    @Override
    public PCollectionRowTuple expand(PCollection<?> input) {
      Answer<Void, Row> answer = Call.ofRows(input).askWithErrors(ensemble, RowType.rows());
      return PCollectionRowTuple.of(Answer.OUTPUT, answer.scored())
          .and(Answer.ERRORS, answer.failed());
    }
  }

  /**
   * Rows in, objects out.
   *
   * @param <T> a type that has a schema: of the scored row's fields, those that it wants
   */
  public static final class As<T> extends Way<PCollection<?>, PCollection<T>> {
    private final Class<T> type;

    private As(RunEnsemble ensemble, Class<T> type) {
      super(ensemble, false);
      this.type = Given.notNull(type, "type");
    }

    /** Takes keyed rows and gives keyed objects. */
    public <K> Keyed<K, T> keyed() {
      return new Keyed<>(ensemble, type);
    }

    @Override
    public PCollection<T> expand(PCollection<?> input) {
      return Call.ofRows(input).ask(ensemble, RowType.of(type, input.getPipeline())).scored();
    }
  }

  /**
   * Rows in; objects, and rows that could not be scored, out.
   *
   * @param <T> a type that has a schema: of the scored row's fields, those that it wants
   */
  public static final class AsWithErrors<T>
      extends Way<PCollection<?>, WithFailures.Result<PCollection<T>, Row>> {
    private final Class<T> type;

    private AsWithErrors(RunEnsemble ensemble, Class<T> type) {
      super(ensemble, true);
      this.type = Given.notNull(type, "type");
    }

    /** Takes keyed rows and gives both outputs keyed. */
    public <K> KeyedWithErrors<K, T> keyed() {
      return new KeyedWithErrors<>(ensemble, type);
    }

    @Override
    public WithFailures.Result<PCollection<T>, Row> expand(PCollection<?> input) {
      Answer<Void, T> answer =
          Call.ofRows(input).askWithErrors(ensemble, RowType.of(type, input.getPipeline()));
      return WithFailures.Result.of(answer.scored(), answer.failed());
    }
  }

  /**
   * Keyed rows in, keyed rows or objects out.
   *
   * @param <K> the key
   * @param <T> what a scored row becomes
   */
  public static final class Keyed<K, T>
      extends Way<PCollection<? extends KV<K, ?>>, PCollection<KV<K, T>>> {
    private final Class<T> type;

    private Keyed(RunEnsemble ensemble, Class<T> type) {
      super(ensemble, false);
      this.type = Given.notNull(type, "type");
    }

    @Override
    public PCollection<KV<K, T>> expand(PCollection<? extends KV<K, ?>> input) {
      return Call.ofKeyedRows(input)
          .ask(ensemble, RowType.of(type, input.getPipeline()))
          .keyedScored();
    }
  }

  /**
   * Keyed rows in; keyed rows or objects, and keyed rows that could not be scored, out.
   *
   * @param <K> the key
   * @param <T> what a scored row becomes
   */
  public static final class KeyedWithErrors<K, T>
      extends Way<
          PCollection<? extends KV<K, ?>>, WithFailures.Result<PCollection<KV<K, T>>, KV<K, Row>>> {
    private final Class<T> type;

    private KeyedWithErrors(RunEnsemble ensemble, Class<T> type) {
      super(ensemble, true);
      this.type = Given.notNull(type, "type");
    }

    @Override
    public WithFailures.Result<PCollection<KV<K, T>>, KV<K, Row>> expand(
        PCollection<? extends KV<K, ?>> input) {
      Answer<K, T> answer =
          Call.ofKeyedRows(input).askWithErrors(ensemble, RowType.of(type, input.getPipeline()));
      return WithFailures.Result.of(answer.keyedScored(), answer.keyedFailed());
    }
  }
}
