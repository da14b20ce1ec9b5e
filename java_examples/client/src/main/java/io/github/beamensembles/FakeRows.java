package io.github.beamensembles;

import io.github.beamensembles.testing.FakeEnsemble;
import io.github.beamensembles.testing.RowFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.Field;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.values.Row;

/** Answers rows with a fake, and gives them back as the service would. */
final class FakeRows extends DoFn<Row, Row> {

  private final FakeEnsemble<?, ?> fake;
  private final String ensemble;
  private final Map<String, String> fields;
  private final Map<String, String> columns;
  private final Schema output;
  private final Schema errors;
  private final boolean withErrors;

  /**
   * Creates the function.
   *
   * @param fields for each column that the ensemble reads the field of the rows
   * @param columns for each added column of the output the column of the fake
   */
  FakeRows(
      FakeEnsemble<?, ?> fake,
      String ensemble,
      Map<String, String> fields,
      Map<String, String> columns,
      Schema output,
      Schema errors,
      boolean withErrors) {
    this.fake = fake;
    this.ensemble = ensemble;
    this.fields = fields;
    this.columns = columns;
    this.output = output;
    this.errors = errors;
    this.withErrors = withErrors;
  }

  /** Returns the rows of the output of rows that could not be scored. */
  static Schema errorsOf(Schema element) {
    return Schema.builder()
        .addRowField("element", element)
        .addStringField("ensemble")
        .addStringField("node")
        .addStringField("code")
        .addStringField("msg")
        .addStringField("stack")
        .build();
  }

  @ProcessElement
  public void process(@Element Row row, MultiOutputReceiver receiver) {
    try {
      receiver.get(RunEnsemble.OUTPUT_TAG).output(scored(row, fake.answer(inputs(row))));
    } catch (RowFailure failure) {
      if (!withErrors) {
        throw new EnsembleException(
            "ensemble '"
                + ensemble
                + "' could not score a row: ["
                + failure.code()
                + "] "
                + (failure.node().isEmpty() ? "inputs" : "nodes." + failure.node())
                + ": "
                + failure.getMessage()
                + " (to get such rows separately, take the error output: withErrors())",
            failure);
      }
      receiver.get(RunEnsemble.ERRORS_TAG).output(failed(row, failure));
    }
  }

  private Row inputs(Row row) {
    Schema inputs = fake.inputs();
    List<Object> values = new ArrayList<>(inputs.getFieldCount());
    for (Field input : inputs.getFields()) {
      String field = fields.get(input.getName());
      Object value = row.getValue(field);
      if (value == null && !FieldTypes.isNullable(input.getType())) {
        String type = PortableTypes.nameOf(input.getType());
        throw new RowFailure(
            "",
            "null_value",
            "input '"
                + input.getName()
                + "' is null, and the ensemble declares it as "
                + type
                + "; '"
                + type
                + "?' allows nulls");
      }
      values.add(read(input.getType(), value, row.getSchema().getField(field).getType()));
    }
    return Row.withSchema(inputs).attachValues(values);
  }

  /** Reads a value as the ensemble does, and shows it in the type that the fake declares. */
  private static Object read(FieldType declared, Object value, FieldType found) {
    FieldType crossed = CrossedValues.crossed(found);
    return CrossedValues.as(declared, CrossedValues.as(crossed, value, found), crossed);
  }

  private Row scored(Row row, Row answer) {
    List<Object> values = new ArrayList<>(output.getFieldCount());
    for (Field field : output.getFields()) {
      String column = columns.get(field.getName());
      if (column == null) {
        values.add(row.getValue(field.getName()));
      } else if (answer.getSchema().hasField(column)) {
        FieldType made = answer.getSchema().getField(column).getType();
        values.add(read(field.getType(), answer.getValue(column), made));
      } else {
        values.add(provenance());
      }
    }
    return Row.withSchema(output).attachValues(values);
  }

  private Row provenance() {
    return Row.withSchema(FakeModels.PROVENANCE)
        .addValues(ensemble, "fake", Map.of(), List.of())
        .build();
  }

  private Row failed(Row row, RowFailure failure) {
    return Row.withSchema(errors)
        .addValues(row, ensemble, failure.node(), failure.code(), failure.getMessage(), "")
        .build();
  }
}
