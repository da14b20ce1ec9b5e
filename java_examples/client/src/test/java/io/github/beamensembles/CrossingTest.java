package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.UuidLogicalType;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.Row;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link Crossing}. */
@RunWith(JUnit4.class)
public class CrossingTest {

  private static final Schema PLAIN = Schema.builder().addInt64Field("id").build();
  private static final UuidLogicalType ID = new UuidLogicalType();
  private static final UUID PRICE = new UUID(12, 340);

  private static final Schema MIXED =
      Schema.builder()
          .addLogicalTypeField("price", ID)
          .addInt64Field("id")
          .addNullableField("tax", FieldType.logicalType(ID))
          .addStringField("name")
          .addField("texts", FieldType.iterable(FieldType.STRING))
          .addLogicalTypeField("uuid", ID)
          .build();

  private static final Row MIXED_ROW = mixedRow(PRICE);

  private static Row mixedRow(UUID tax) {
    return Row.withSchema(MIXED)
        .addValues(PRICE, 7L, tax, "seven", List.of("t"))
        .addValue(new UUID(1, 2))
        .build();
  }

  /** What the service would give: the sent row with one column added. */
  private static Row scored(Row sent) {
    Schema schema =
        Schema.builder().addFields(sent.getSchema().getFields()).addDoubleField("score").build();
    return Row.withSchema(schema).addValues(sent.getValues()).addValue(0.5).build();
  }

  @Test
  public void plainRowsGoAsTheyAre() {
    Crossing<Void> crossing = Crossing.ofRows(PLAIN);
    Row row = Row.withSchema(PLAIN).addValue(1L).build();

    assertTrue(crossing.isDirect());
    assertEquals(PLAIN, crossing.sentSchema());
    assertSame(row, crossing.send(null, row));
  }

  @Test
  public void onlyPortableFieldsAndBytesAreSent() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);

    Row sent = crossing.send(null, MIXED_ROW);

    assertFalse(crossing.isDirect());
    assertEquals(List.of("id", "name", "__opaque"), sent.getSchema().getFieldNames());
    assertEquals(crossing.sentSchema(), sent.getSchema());
    assertTrue(PortableTypes.isPortable(sent.getSchema()));
    assertEquals(
        Map.of(
            "price",
            "beam:logical_type:uuid:v1",
            "tax",
            "beam:logical_type:uuid:v1?",
            "texts",
            "iterable<string>",
            "uuid",
            "beam:logical_type:uuid:v1"),
        crossing.opaqueTypes());
  }

  @Test
  public void fieldsComeBackInTheirPlaces() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);

    for (Row row : List.of(MIXED_ROW, mixedRow(null))) {
      Row received = scored(crossing.send(null, row));
      Schema to = crossing.restored(received.getSchema(), Optional.empty());
      Row restored = crossing.restore(received, to).getValue();

      assertEquals(Row.withSchema(to).addValues(row.getValues()).addValue(0.5).build(), restored);
      assertEquals(
          List.of("price", "id", "tax", "name", "texts", "uuid", "score"), to.getFieldNames());
    }
  }

  @Test
  public void onlyFieldsThatPassThroughComeBack() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);
    Optional<List<String>> passThrough = Optional.of(List.of("name", "price"));

    assertEquals(List.of("name", "__opaque"), crossing.asked(passThrough.get()));
    Schema received =
        Schema.builder()
            .addStringField("name")
            .addByteArrayField("__opaque")
            .addDoubleField("score")
            .build();
    assertEquals(
        List.of("price", "name", "score"),
        crossing.restored(received, passThrough).getFieldNames());
  }

  @Test
  public void theCallersTypeMayTakeSomeFieldsInAnyOrder() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);
    Schema wanted =
        Schema.builder().addDoubleField("score").addLogicalTypeField("price", ID).build();

    assertEquals(List.of("score", "__opaque"), crossing.asked(wanted).getFieldNames());
    Row restored = crossing.restore(scored(crossing.send(null, MIXED_ROW)), wanted).getValue();
    assertEquals(Row.withSchema(wanted).addValues(0.5, PRICE).build(), restored);
  }

  @Test
  public void keysTravelWithTheRows() {
    Crossing<String> crossing = Crossing.ofKeyedRows(StringUtf8Coder.of(), PLAIN);
    Row row = Row.withSchema(PLAIN).addValue(1L).build();

    assertFalse(crossing.isDirect());
    Row sent = crossing.send("ключ", row);
    KV<String, Row> back = crossing.restore(sent, PLAIN);

    assertEquals(List.of("id", "__opaque"), sent.getSchema().getFieldNames());
    assertEquals(KV.of("ключ", row), back);
    assertEquals(Map.of(), crossing.opaqueTypes());
  }

  @Test
  public void nestedTypesOfJavaTravelWhole() {
    Schema nested = Schema.builder().addInt64Field("n").addLogicalTypeField("d", ID).build();
    Schema schema =
        Schema.builder()
            .addRowField("nested", nested)
            .addArrayField("prices", FieldType.logicalType(ID))
            .build();
    Crossing<Void> crossing = Crossing.ofRows(schema);
    Row row =
        Row.withSchema(schema)
            .addValue(Row.withSchema(nested).addValues(1L, PRICE).build())
            .addValue(Arrays.asList(PRICE, PRICE))
            .build();

    Row sent = crossing.send(null, row);

    assertEquals(List.of("__opaque"), sent.getSchema().getFieldNames());
    assertEquals(row, crossing.restore(sent, schema).getValue());
  }

  @Test
  public void anAddedColumnMayNotHideAField() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);
    Schema received =
        Schema.builder().addByteArrayField("__opaque").addStringField("price").build();

    EnsembleException error =
        assertThrows(EnsembleException.class, () -> crossing.restored(received, Optional.empty()));

    assertEquals("column_exists", error.problems().get(0).code());
    assertEquals("outputs.price", error.problems().get(0).path());
  }

  @Test
  public void aFieldOfTheCallersTypeMustBeOneThatTheRowsHave() {
    Crossing<Void> crossing = Crossing.ofRows(MIXED);
    Schema wanted =
        Schema.builder()
            .addStringField("price")
            .addField("texts", FieldType.iterable(FieldType.STRING).withNullable(true))
            .addLogicalTypeField("tax", ID)
            .addLogicalTypeField("cost", ID)
            .build();

    EnsembleException error = assertThrows(EnsembleException.class, () -> crossing.asked(wanted));

    assertEquals(
        List.of("output_schema.price", "output_schema.tax", "output_schema.cost"),
        error.problems().stream().map(Problem::path).toList());
    assertEquals("output_schema_mismatch", error.problems().get(0).code());
  }

  @Test
  public void theOpaqueColumnsNameIsTaken() {
    Schema schema = Schema.builder().addStringField("__opaque").build();

    assertThrows(IllegalArgumentException.class, () -> Crossing.ofRows(schema));
  }
}
