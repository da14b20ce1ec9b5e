package io.github.beamensembles;

import static java.util.stream.Collectors.joining;

import io.github.beamensembles.testing.FakeEnsemble;
import io.github.beamensembles.testing.FakeEnsembleOptions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.EquivalenceNullablePolicy;
import org.apache.beam.sdk.schemas.Schema.Field;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionTuple;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TupleTagList;

/**
 * A fake in the place of {@link Models}: it checks a call as the service does, in the same words,
 * as far as this program knows the ensemble.
 */
final class FakeModels {

  static final Schema PROVENANCE =
      Schema.builder()
          .addStringField("ensemble")
          .addStringField("digest")
          .addMapField("route", FieldType.STRING, FieldType.STRING)
          .addArrayField("errors_ignored", FieldType.STRING)
          .build();

  /** The codes of problems of which the rows are the cause. */
  private static final Set<String> OF_ROWS =
      Set.of(
          "missing_field",
          "field_type",
          "opaque_field",
          "column_exists",
          "unknown_column",
          "bad_name");

  private static final String NO_TYPE =
      ", which is not a type of an ensemble file (string, bytes, boolean, int32, int64, float,"
          + " double, timestamp, and arrays, maps and rows of them)";
  private static final String PROVENANCE_COLUMN = "provenance";
  private static final Pattern PARAMETER = Pattern.compile("\\$\\{([^{}]*)\\}");
  private static final Pattern COMMENT = Pattern.compile("(?m)(?:^|\\s)#.*$");
  private static final Pattern ENABLED = Pattern.compile("\\benabled\\b");
  private static final Pattern NAME =
      Pattern.compile("(?!__)[^\\W\\d][\\w-]*", Pattern.UNICODE_CHARACTER_CLASS);

  private final FakeEnsemble<?, ?> fake;
  private final RunEnsemble ensemble;
  private final Crossing<?> crossing;
  private final Schema sent;
  private final List<Problem> problems = new ArrayList<>();

  private FakeModels(FakeEnsemble<?, ?> fake, RunEnsemble ensemble, Crossing<?> crossing) {
    this.fake = fake;
    this.ensemble = ensemble;
    this.crossing = crossing;
    this.sent = crossing.sentSchema();
  }

  /** Whether ensembles are replaced in the pipelines with these options. */
  static boolean replace(PipelineOptions options) {
    return !fakes(options).isEmpty();
  }

  /**
   * Finds what answers for an ensemble.
   *
   * @throws EnsembleException others are replaced, but not this one
   */
  static Optional<FakeEnsemble<?, ?>> of(RunEnsemble ensemble, PipelineOptions options) {
    Map<String, FakeEnsemble<?, ?>> fakes = fakes(options);
    if (fakes.isEmpty()) {
      return Optional.empty();
    }
    String name = ensemble.source().name();
    FakeEnsemble<?, ?> fake = fakes.get(name);
    if (fake == null) {
      throw new EnsembleException(
          "no FakeEnsemble replaces the ensemble '"
              + name
              + "' in this pipeline (replaced: "
              + String.join(", ", fakes.keySet())
              + "); add one with replace(\""
              + name
              + "\", options)");
    }
    return Optional.of(fake);
  }

  private static Map<String, FakeEnsemble<?, ?>> fakes(PipelineOptions options) {
    return Optional.ofNullable(options.as(FakeEnsembleOptions.class).getFakeEnsembles())
        .orElse(Map.of());
  }

  /**
   * Puts the fake into the pipeline; gives its outputs.
   *
   * @param wanted the fields that the caller's type has; absent where rows are taken as they come
   */
  static PCollectionTuple apply(
      FakeEnsemble<?, ?> fake,
      RunEnsemble ensemble,
      Crossing<?> crossing,
      Optional<Schema> wanted,
      boolean withErrors,
      PCollection<Row> rows) {
    FakeModels models = new FakeModels(fake, ensemble, crossing);
    models.checkCall();
    Schema output = models.output(wanted);
    Schema errors = FakeRows.errorsOf(models.sent);
    FakeRows answers =
        new FakeRows(
            fake,
            ensemble.source().name(),
            models.fields(),
            models.columns(),
            output,
            errors,
            withErrors);
    PCollectionTuple received =
        rows.apply(
            "Models",
            ParDo.of(answers)
                .withOutputTags(RunEnsemble.OUTPUT_TAG, TupleTagList.of(RunEnsemble.ERRORS_TAG)));
    received.get(RunEnsemble.OUTPUT_TAG).setRowSchema(output);
    received.get(RunEnsemble.ERRORS_TAG).setRowSchema(errors);
    return received;
  }

  private void checkCall() {
    checkFake();
    ensemble.source().text().ifPresent(this::checkParameters);
    checkInputs();
    checkNames();
    throwProblems();
  }

  private void throwProblems() {
    if (!problems.isEmpty()) {
      int count = problems.size();
      String name = "ensemble '" + ensemble.source().name() + "'";
      throw EnsembleException.of(
          whatFails(name) + ": " + count + (count == 1 ? " problem" : " problems"), problems);
    }
  }

  private String whatFails(String name) {
    if (problems.stream().allMatch(problem -> OF_ROWS.contains(problem.code()))) {
      return "the rows do not fit " + name;
    }
    if (problems.stream().allMatch(problem -> problem.code().equals("output_schema_mismatch"))) {
      return "the caller's type does not fit the output of " + name;
    }
    return name + " is not valid";
  }

  /** What no ensemble has is a mistake in the test. */
  private void checkFake() {
    for (Field field : fake.inputs().getFields()) {
      if (!PortableTypes.isPortable(field.getType())) {
        throw new IllegalArgumentException(
            "the FakeEnsemble reads '" + field.getName() + "' as " + nameOf(field) + NO_TYPE);
      }
    }
    for (Field field : fake.outputs().getFields()) {
      String crossed = PortableTypes.nameOf(CrossedValues.crossed(field.getType()));
      if (!PortableTypes.isPortable(field.getType()) || !nameOf(field).equals(crossed)) {
        throw new IllegalArgumentException(
            "the FakeEnsemble gives '" + field.getName() + "' as " + nameOf(field) + NO_TYPE);
      }
    }
  }

  private static String nameOf(Field field) {
    return PortableTypes.nameOf(field.getType());
  }

  private void checkParameters(String text) {
    TreeSet<String> known = names(text);
    for (String name : ensemble.parameters().keySet()) {
      if (!known.contains(name)) {
        add(
            "unknown_parameter",
            "parameters",
            "the file has no parameter '" + name + "' (it has: " + listed(known) + ")");
      }
    }
    if (ENABLED.matcher(text).find()) {
      return; // parameters that only a disabled node needs may be missing
    }
    for (String name : names(COMMENT.matcher(text).replaceAll(""))) {
      if (!ensemble.parameters().containsKey(name)) {
        add(
            "missing_parameter",
            "$",
            "no value was given for the parameter '"
                + name
                + "' (given: "
                + listed(ensemble.parameters().keySet())
                + ")");
      }
    }
  }

  private static TreeSet<String> names(String text) {
    TreeSet<String> names = new TreeSet<>();
    PARAMETER.matcher(text).results().map((MatchResult it) -> it.group(1)).forEach(names::add);
    return names;
  }

  private void checkInputs() {
    for (String column : ensemble.columns().keySet()) {
      if (!fake.inputs().hasField(column)) {
        add(
            "unknown_column",
            "columns." + column,
            "the ensemble has no input '"
                + column
                + "' (inputs: "
                + listed(fake.inputs().getFieldNames())
                + ")");
      }
    }
    fake.inputs().getFields().forEach(this::checkInput);
  }

  private void checkInput(Field input) {
    String field = fieldOf(input.getName());
    String where = "input." + field;
    String opaque = crossing.opaqueTypes().get(field);
    if (opaque != null) {
      add(
          "opaque_field",
          where,
          "the ensemble reads '"
              + field
              + "', but its type "
              + opaque
              + " cannot cross to the models; convert it before, or name another field with"
              + " 'columns'");
    } else if (!sent.hasField(field)) {
      add(
          "missing_field",
          where,
          "the ensemble reads '"
              + field
              + "', which the incoming rows lack (fields: "
              + listed(ownFields())
              + ")");
    } else if (!CrossedValues.feeds(sent.getField(field).getType(), input.getType())) {
      add(
          "field_type",
          where,
          "the incoming rows have '"
              + field
              + "' as "
              + PortableTypes.nameOf(sent.getField(field).getType())
              + ", and the ensemble declares "
              + nameOf(input)
              + "; "
              + rule(sent.getField(field).getType(), input.getType()));
    }
  }

  /** Returns what a field of another type than the declared one needs. */
  private static String rule(FieldType found, FieldType declared) {
    boolean areLists = found.getTypeName().isCollectionType();
    if (areLists && declared.getTypeName().isCollectionType()) {
      return rule(found.getCollectionElementType(), declared.getCollectionElementType());
    } else if (found.getTypeName().isCompositeType() && declared.getTypeName().isCompositeType()) {
      return "rows in rows need the same fields, and numbers may only become wider";
    } else if (found.getTypeName().isNumericType() && declared.getTypeName().isNumericType()) {
      return "numbers may only become wider";
    }
    return "convert the field before, or declare the input as the field is";
  }

  private void checkNames() {
    List<String> own = ownFields();
    List<String> kept = ensemble.passThrough().orElse(own);
    for (String name : kept) {
      if (!own.contains(name)) {
        add("missing_field", "pass_through", "the incoming rows have no field '" + name + "'");
      }
    }
    for (String column : added().keySet()) {
      String name = prefixed(column);
      if (!NAME.matcher(name).matches()) {
        add(
            "bad_name",
            "prefix",
            "'"
                + name
                + "' is not a valid name of a column: names start with a letter or one '_', then"
                + " letters, digits, '_' and '-' follow");
        return;
      }
      if (kept.contains(name)) {
        add(
            "column_exists",
            "outputs." + column,
            "the incoming rows have a field '"
                + name
                + "' already, which the ensemble would hide; rename it, or give a prefix");
      }
    }
  }

  /** The added columns with the types in which an ensemble gives them, without the prefix. */
  private Map<String, FieldType> added() {
    Map<String, FieldType> added = new LinkedHashMap<>();
    for (Field field : fake.outputs().getFields()) {
      added.put(field.getName(), CrossedValues.crossed(field.getType()));
    }
    if (ensemble.provenance()) {
      added.put(PROVENANCE_COLUMN, FieldType.row(PROVENANCE));
    }
    return added;
  }

  /** What comes out: the fields that are kept and the added columns, as the caller wants them. */
  private Schema output(Optional<Schema> wanted) {
    Map<String, FieldType> made = new LinkedHashMap<>();
    for (Field field : sent.getFields()) {
      if (isKept(field.getName())) {
        made.put(field.getName(), field.getType());
      }
    }
    Map<String, FieldType> added = new LinkedHashMap<>();
    added().forEach((name, type) -> added.put(prefixed(name), type));
    made.putAll(added);
    if (wanted.isEmpty()) {
      Schema.Builder schema = Schema.builder();
      made.forEach(schema::addField);
      return schema.build();
    }
    Schema asked = crossing.asked(wanted.get());
    for (Field field : asked.getFields()) {
      checkWanted(field, made, added.containsKey(field.getName()));
    }
    throwProblems();
    return asked;
  }

  private void checkWanted(Field wanted, Map<String, FieldType> made, boolean isAdded) {
    String name = wanted.getName();
    FieldType found = made.get(name);
    if (found == null) {
      List<String> own = made.keySet().stream().filter(it -> !it.startsWith("__")).toList();
      mismatch(
          name,
          "the caller's type has a field '"
              + name
              + "', which the ensemble's output lacks (fields: "
              + listed(own)
              + ")");
    } else if (!fits(found, wanted.getType(), isAdded)) {
      mismatch(
          name,
          "the caller's type has '"
              + name
              + "' as "
              + nameOf(wanted)
              + ", but the ensemble gives "
              + PortableTypes.nameOf(found)
              + (PortableTypes.nameOf(found).equals(nameOf(wanted) + "?")
                  ? EnsembleException.BOXED
                  : ""));
    }
  }

  private void mismatch(String field, String message) {
    add("output_schema_mismatch", "output_schema." + field, message);
  }

  /**
   * Whether the types are the same, or null is allowed in addition. Rows that the ensemble adds are
   * written with their fields in the order of those wanted.
   */
  private static boolean fits(FieldType made, FieldType wanted, boolean isAdded) {
    if (FieldTypes.isNullable(made) && !FieldTypes.isNullable(wanted)) {
      return false;
    }
    FieldType to = wanted.withNullable(false);
    FieldType from = made.withNullable(false);
    from = isAdded ? CrossedValues.inOrderOf(to, from) : from;
    String name = PortableTypes.nameOf(to);
    FieldType type = isAdded && name.contains("timestamp") ? CrossedValues.crossed(to) : to;
    return PortableTypes.nameOf(from).equals(name)
        && from.equivalent(type, EquivalenceNullablePolicy.SAME);
  }

  private boolean isKept(String field) {
    return field.equals(Crossing.OPAQUE_COLUMN)
        || ensemble.passThrough().map(kept -> kept.contains(field)).orElse(true);
  }

  private List<String> ownFields() {
    List<String> names = new ArrayList<>(sent.getFieldNames());
    names.remove(Crossing.OPAQUE_COLUMN);
    names.addAll(crossing.opaqueTypes().keySet());
    return names;
  }

  private String fieldOf(String column) {
    return ensemble.columns().getOrDefault(column, column);
  }

  /** For each column that the ensemble reads the field of the rows. */
  private Map<String, String> fields() {
    Map<String, String> fields = new LinkedHashMap<>();
    fake.inputs().getFieldNames().forEach(column -> fields.put(column, fieldOf(column)));
    return fields;
  }

  /** For each added column of the output the column of the fake. */
  private Map<String, String> columns() {
    Map<String, String> columns = new LinkedHashMap<>();
    added().keySet().forEach(column -> columns.put(prefixed(column), column));
    return columns;
  }

  private String prefixed(String column) {
    return ensemble.prefix().orElse("") + column;
  }

  private void add(String code, String path, String message) {
    problems.add(new Problem(code, path, message));
  }

  private static String listed(Collection<String> names) {
    return names.isEmpty() ? "none" : names.stream().collect(joining(", "));
  }
}
