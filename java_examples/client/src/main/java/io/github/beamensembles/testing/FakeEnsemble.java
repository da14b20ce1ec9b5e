package io.github.beamensembles.testing;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.beam.sdk.coders.CoderException;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.schemas.NoSuchSchemaException;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.SchemaCoder;
import org.apache.beam.sdk.schemas.SchemaRegistry;
import org.apache.beam.sdk.transforms.SerializableFunction;
import org.apache.beam.sdk.util.CoderUtils;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptor;
import org.jspecify.annotations.Nullable;

/**
 * Answers in the place of an ensemble, without Python and without a service, so that a test can run
 * a pipeline on any runner, Beam's direct runner too. The pipeline itself stays as it is:
 *
 * <pre>{@code
 * @Rule public final TestPipeline pipeline = TestPipeline.create();
 *
 * @Test
 * public void scores() {
 *   FakeEnsemble.of(FlowersRows.Input.class, FlowersRows.Scored.class)
 *       .withAnswers(flower -> scored(flower.id == 1 ? "setosa" : "virginica"))
 *       .replace("flowers", pipeline.getOptions());
 *   PCollection<FlowersRows.Scored> scored = FlowersPipeline.score(pipeline.apply(...));
 *   ...
 * }
 * }</pre>
 *
 * <p>While the pipeline is built, it is checked as the service would check it against these types:
 * fields that the ensemble reads, names in {@code withColumns}, {@code withPassThrough} and {@code
 * withPrefix}, the type that scored rows become, and the parameters of a file that this program
 * reads. The models are not there, so what they would refuse is not found.
 *
 * <p>An answer is made for each row by its inputs: one of {@link #withAnswer} if there is one for
 * them, else that of {@link #withAnswers}. A row without an answer fails its test.
 *
 * @param <InputT> the rows that go in
 * @param <ScoredT> the rows that come out, or the columns that are added
 */
public final class FakeEnsemble<InputT, ScoredT> implements Serializable {

  private static final long serialVersionUID = 1;

  private final SchemaCoder<InputT> input;
  private final SchemaCoder<ScoredT> scored;
  private final Schema outputs;
  private final Map<Row, Row> answers;
  private final Map<Row, RowFailure> failures;
  private final @Nullable SerializableFunction<InputT, ScoredT> others;

  private FakeEnsemble(
      SchemaCoder<InputT> input,
      SchemaCoder<ScoredT> scored,
      Map<Row, Row> answers,
      Map<Row, RowFailure> failures,
      @Nullable SerializableFunction<InputT, ScoredT> others) {
    this.input = input;
    this.scored = scored;
    this.outputs = added(input.getSchema(), scored.getSchema());
    this.answers = answers;
    this.failures = failures;
    this.others = others;
  }

  /**
   * Takes the types of the rows, such as those that {@code beam-ensembles generate java} writes.
   *
   * @param input has the fields that the ensemble reads; the pipeline's rows may have more
   * @param scored has the columns that the ensemble adds; fields that {@code input} has as well are
   *     not among them
   */
  public static <InputT, ScoredT> FakeEnsemble<InputT, ScoredT> of(
      Class<InputT> input, Class<ScoredT> scored) {
    return of(coder(input), coder(scored));
  }

  /**
   * Takes the schemas of the rows.
   *
   * @param input has the fields that the ensemble reads; the pipeline's rows may have more
   * @param scored has the columns that the ensemble adds; fields that {@code input} has as well are
   *     not among them
   */
  public static FakeEnsemble<Row, Row> of(Schema input, Schema scored) {
    return of(RowCoder.of(input), RowCoder.of(scored));
  }

  private static <InputT, ScoredT> FakeEnsemble<InputT, ScoredT> of(
      SchemaCoder<InputT> input, SchemaCoder<ScoredT> scored) {
    return new FakeEnsemble<>(input, scored, Map.of(), Map.of(), null);
  }

  /** Answers a row that has the fields of {@code row} with the added columns of {@code answer}. */
  public FakeEnsemble<InputT, ScoredT> withAnswer(InputT row, ScoredT answer) {
    Map<Row, Row> all = new HashMap<>(answers);
    all.put(inputs(row), outputs(answer));
    return new FakeEnsemble<>(input, scored, all, failures, others);
  }

  /** Fails a row that has the fields of {@code row}. */
  public FakeEnsemble<InputT, ScoredT> withFailure(InputT row, RowFailure failure) {
    Map<Row, RowFailure> all = new HashMap<>(failures);
    all.put(inputs(row), failure);
    return new FakeEnsemble<>(input, scored, answers, all, others);
  }

  /**
   * Answers every other row.
   *
   * @param answer gives the added columns of a row, or throws {@link RowFailure}; runs on workers
   */
  public FakeEnsemble<InputT, ScoredT> withAnswers(SerializableFunction<InputT, ScoredT> answer) {
    return new FakeEnsemble<>(input, scored, answers, failures, answer);
  }

  /**
   * Answers in the place of an ensemble in all pipelines with these options. An ensemble that no
   * fake replaces is an error there.
   *
   * @param ensemble the ensemble's name in its file; for a bundle or {@code fromUri} the file's
   *     name up to the first dot
   * @param options those of the pipeline, before {@code RunEnsemble} is applied
   */
  public void replace(String ensemble, PipelineOptions options) {
    FakeEnsembleOptions fakes = options.as(FakeEnsembleOptions.class);
    Map<String, FakeEnsemble<?, ?>> all =
        new TreeMap<>(Optional.ofNullable(fakes.getFakeEnsembles()).orElse(Map.of()));
    all.put(ensemble, this);
    fakes.setFakeEnsembles(all);
  }

  /** The fields that the ensemble reads. */
  public Schema inputs() {
    return input.getSchema();
  }

  /** The columns that the ensemble adds. */
  public Schema outputs() {
    return outputs;
  }

  /**
   * Answers one row.
   *
   * @param row has the schema {@link #inputs}
   * @return a row of the schema {@link #outputs}
   * @throws RowFailure the row cannot be scored
   */
  public Row answer(Row row) {
    Row key = plain(row, inputs(), "the row");
    RowFailure failure = failures.get(key);
    if (failure != null) {
      throw failure;
    }
    Row answer = answers.get(key);
    if (answer != null) {
      return answer;
    }
    if (others == null) {
      throw new IllegalStateException(
          "the FakeEnsemble has no answer for the row "
              + oneLine(key)
              + "; add withAnswer for it, or withAnswers for every other row");
    }
    ScoredT made = others.apply(input.getFromRowFunction().apply(key));
    if (made == null) {
      throw new IllegalStateException("withAnswers gives null for the row " + oneLine(key));
    }
    return outputs(made);
  }

  private Row inputs(InputT row) {
    return plain(input.getToRowFunction().apply(row), inputs(), "the row of withAnswer");
  }

  private Row outputs(ScoredT answer) {
    return plain(scored.getToRowFunction().apply(answer), outputs, "the answer");
  }

  /** Copies fields, so that the copy depends on no object of the caller and is serializable. */
  private static Row plain(Row row, Schema fields, String what) {
    Row.Builder copy = Row.withSchema(fields);
    for (Schema.Field field : fields.getFields()) {
      String name = field.getName();
      if (!row.getSchema().hasField(name)) {
        throw new IllegalArgumentException(what + " has no field '" + name + "'");
      }
      Object value = row.getValue(name);
      try {
        // One at a time, so that a mistake can be told with its field.
        Row.withSchema(Schema.of(field)).addValue(value).build();
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(
            what + " has a wrong value in '" + name + "': " + e.getMessage(), e);
      }
      copy.addValue(value);
    }
    try {
      return CoderUtils.clone(RowCoder.of(fields), copy.build());
    } catch (CoderException | RuntimeException e) {
      throw new IllegalArgumentException(
          what + " does not fit its fields " + fields.getFieldNames() + ": " + e.getMessage(), e);
    }
  }

  private static String oneLine(Row row) {
    return row.toString().strip().replaceAll("\\s*\\n\\s*", ", ");
  }

  private static Schema added(Schema input, Schema scored) {
    Schema added =
        new Schema(
            scored.getFields().stream().filter(field -> !input.hasField(field.getName())).toList());
    if (added.getFieldCount() == 0) {
      throw new IllegalArgumentException(
          "an ensemble adds a column, but each field of the scored row is one of the input: "
              + scored.getFieldNames());
    }
    return added;
  }

  private static <T> SchemaCoder<T> coder(Class<T> type) {
    try {
      return SchemaRegistry.createDefault().getSchemaCoder(TypeDescriptor.of(type));
    } catch (NoSuchSchemaException e) {
      throw new IllegalArgumentException(
          type.getName() + " has no schema: annotate it with @DefaultSchema", e);
    }
  }
}
