package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionRowTuple;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** An ensemble with every part of the language gives what plain Python says of the same rows. */
@RunWith(JUnit4.class)
public class LanguageIntegrationTest implements Serializable {

  private static final String FOLDER_VARIABLE = "BEAM_ENSEMBLES_FRAMEWORKS";
  private static final FieldType DOUBLES = FieldType.array(FieldType.DOUBLE);
  private static final FieldType TEXTS = FieldType.array(FieldType.STRING);
  private static final FieldType RANKED =
      FieldType.array(
          FieldType.row(Schema.builder().addStringField("name").addDoubleField("score").build()));

  private static final Schema REQUEST =
      Schema.builder()
          .addInt64Field("id")
          .addNullableStringField("user")
          .addField("x", DOUBLES)
          .addDoubleField("amount")
          .addNullableStringField("note")
          .addNullableField("weight", FieldType.INT32)
          .addInt64Field("code")
          .addStringField("guess")
          .addNullableStringField("second")
          .addField("names", TEXTS)
          .addMapField("tags", FieldType.STRING, FieldType.INT64)
          .build();

  /** The columns that the ensemble adds. */
  private static final Schema ADDED =
      Schema.builder()
          .addStringField("arm")
          .addStringField("lane")
          .addDoubleField("doubled")
          .addNullableStringField("initial")
          .addBooleanField("is_noted")
          .addNullableField("heavier", FieldType.BOOLEAN)
          .addField("small_p", DOUBLES)
          .addNullableField("twin_p", DOUBLES)
          .addArrayField("places", FieldType.INT64)
          .addNullableStringField("arm_label")
          .addNullableField("big_p", DOUBLES)
          .addNullableField("deep", FieldType.INT64)
          .addStringField("label")
          .addNullableStringField("coded")
          .addStringField("kind")
          .addStringField("vote")
          .addDoubleField("share")
          .addField("best", RANKED)
          .addNullableField("second_best", RANKED)
          .addStringField("prompt")
          .addRowField(
              "provenance",
              Schema.builder()
                  .addStringField("ensemble")
                  .addStringField("digest")
                  .addMapField("route", FieldType.STRING, FieldType.STRING)
                  .addField("errors_ignored", TEXTS)
                  .build())
          .build();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final transient TestPipeline pipeline = RUNNER.pipeline();

  @Test
  public void everyPartOfTheLanguageGivesPythonsAnswers() throws IOException {
    Path folder = Path.of(RealRunner.assumed(FOLDER_VARIABLE));
    Map<Long, String> answers = new HashMap<>();
    Map<Long, String> refusals = new HashMap<>();
    Map<Long, Row> requests = new HashMap<>();
    for (JsonNode one : Golden.json(folder.resolve("language.json"))) {
      Row row = TypedJson.row(REQUEST, one.get("row"));
      requests.put(row.getInt64("id"), row);
      boolean refused = one.has("error");
      (refused ? refusals : answers)
          .put(row.getInt64("id"), one.get(refused ? "error" : "expected").toString());
    }
    PCollection<Row> rows =
        pipeline.apply(Create.of(List.copyOf(requests.values())).withRowSchema(REQUEST));
    for (Encoding encoding : Encoding.values()) {
      PCollectionRowTuple both =
          rows.apply(
              "score " + encoding,
              RunEnsemble.fromFile(folder.resolve("language.yaml").toString())
                  .withEncoding(encoding)
                  .withProvenance()
                  .withErrors());
      assertTypes(both.get("output").getSchema());
      PAssert.that(both.get("output")).satisfies(found -> checkAnswers(found, answers, requests));
      PAssert.that(both.get("errors")).satisfies(found -> checkRefusals(found, refusals, requests));
    }
    pipeline.run().waitUntilFinish();
  }

  private static void assertTypes(Schema scored) {
    List<String> names = new ArrayList<>(REQUEST.getFieldNames());
    names.addAll(ADDED.getFieldNames());
    assertEquals(names, scored.getFieldNames());
    for (Schema.Field field : ADDED.getFields()) {
      Schema.Field found = scored.getField(field.getName());
      assertTrue(found.toString(), field.getType().typesEqual(found.getType()));
      assertEquals(found.toString(), field.getType().getNullable(), found.getType().getNullable());
    }
  }

  private static Void checkAnswers(
      Iterable<Row> found, Map<Long, String> answers, Map<Long, Row> requests) {
    int count = 0;
    Set<String> digests = new HashSet<>();
    for (Row row : found) {
      long id = row.getInt64("id");
      for (String name : REQUEST.getFieldNames()) {
        Object sent = requests.get(id).getValue(name);
        assertEquals("row " + id, sent, row.getValue(name));
      }
      JsonNode wanted = Golden.parsed(answers.get(id));
      for (String name : ADDED.getFieldNames()) {
        check("row " + id + ": " + name, wanted.get(name), row.getValue(name));
      }
      digests.add(row.getRow("provenance").getString("digest"));
      count++;
    }
    assertEquals(answers.size(), count);
    assertTrue(
        digests.toString(),
        digests.size() == 1 && digests.iterator().next().matches("[0-9a-f]{16}"));
    return null;
  }

  private static Void checkRefusals(
      Iterable<Row> found, Map<Long, String> refusals, Map<Long, Row> requests) {
    int count = 0;
    for (Row row : found) {
      long id = row.getRow("element").getInt64("id");
      assertEquals(requests.get(id), row.getRow("element"));
      check("row " + id, Golden.parsed(refusals.get(id)).get("node"), row.getValue("node"));
      check("row " + id, Golden.parsed(refusals.get(id)).get("code"), row.getValue("code"));
      assertEquals("language", row.getString("ensemble"));
      count++;
    }
    assertEquals(refusals.size(), count);
    return null;
  }

  /** Fractions agree to nine digits, all else is equal; a row may have fields that JSON has not. */
  private static void check(String what, JsonNode wanted, Object found) {
    if (found == null || wanted.isNull()) {
      assertTrue(what + " is " + found, found == null && wanted.isNull());
    } else if (found instanceof Row row) {
      Map<String, Object> fields = new HashMap<>();
      row.getSchema().getFieldNames().forEach(name -> fields.put(name, row.getValue(name)));
      wanted.fieldNames().forEachRemaining(name -> check(what, wanted.get(name), fields.get(name)));
      assertTrue(
          what, fields.keySet().stream().allMatch(it -> it.equals("digest") || wanted.has(it)));
    } else if (found instanceof Map<?, ?> entries) {
      assertEquals(what, wanted.size(), entries.size());
      entries.forEach((key, value) -> check(what, wanted.get((String) key), value));
    } else if (found instanceof Collection<?> items) {
      assertEquals(what, wanted.size(), items.size());
      int at = 0;
      for (Object item : items) {
        check(what, wanted.get(at++), item);
      }
    } else if (found instanceof Double number) {
      assertTrue(what + " is " + found, wanted.isNumber());
      assertEquals(what, wanted.doubleValue(), number, 1e-9);
    } else if (found instanceof Long number) {
      assertEquals(what, wanted.longValue(), number.longValue());
    } else if (found instanceof Boolean flag) {
      assertEquals(what, wanted.booleanValue(), flag);
    } else {
      assertNotNull(what, wanted.textValue());
      assertEquals(what, wanted.textValue(), found);
    }
  }
}
