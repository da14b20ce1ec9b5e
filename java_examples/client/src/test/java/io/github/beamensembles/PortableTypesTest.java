package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.logicaltypes.EnumerationType;
import org.apache.beam.sdk.schemas.logicaltypes.FixedBytes;
import org.apache.beam.sdk.schemas.logicaltypes.FixedPrecisionNumeric;
import org.apache.beam.sdk.schemas.logicaltypes.FixedString;
import org.apache.beam.sdk.schemas.logicaltypes.NanosInstant;
import org.apache.beam.sdk.schemas.logicaltypes.SqlTypes;
import org.apache.beam.sdk.schemas.logicaltypes.UuidLogicalType;
import org.apache.beam.sdk.schemas.logicaltypes.VariableBytes;
import org.apache.beam.sdk.schemas.logicaltypes.VariableString;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link PortableTypes}. */
@RunWith(JUnit4.class)
public class PortableTypesTest {

  private static final FieldType TEXTS = FieldType.iterable(FieldType.STRING);

  private static final FieldType PLACE =
      FieldType.row(Schema.builder().addDoubleField("lat").addNullableStringField("name").build());

  @Test
  public void typesOfTheEnsembleFileArePortable() {
    assertPortable("string", FieldType.STRING);
    assertPortable("bytes", FieldType.BYTES);
    assertPortable("boolean", FieldType.BOOLEAN);
    assertPortable("int32", FieldType.INT32);
    assertPortable("int64?", FieldType.INT64.withNullable(true));
    assertPortable("float", FieldType.FLOAT);
    assertPortable("double", FieldType.DOUBLE);
    assertPortable("array<double?>", FieldType.array(FieldType.DOUBLE.withNullable(true)));
    assertPortable("map<string,int32>", FieldType.map(FieldType.STRING, FieldType.INT32));
    assertPortable("byte", FieldType.BYTE);
    assertPortable("decimal?", FieldType.DECIMAL.withNullable(true));
    assertPortable("decimal", FieldType.logicalType(FixedPrecisionNumeric.of(9, 2)));
    assertPortable("array<int16>", FieldType.array(FieldType.INT16));
    assertPortable("row<lat: double, name: string?>", PLACE);
  }

  @Test
  public void typesOfJavaAreNot() {
    assertOpaque("beam:logical_type:uuid:v1", FieldType.logicalType(new UuidLogicalType()));
    assertOpaque("map<timestamp,string>", FieldType.map(FieldType.DATETIME, FieldType.STRING));
    assertOpaque("iterable<string>", FieldType.iterable(FieldType.STRING));
  }

  @Test
  public void logicalTypesThatTheServiceKnowsArePortable() {
    assertPortable("timestamp?", FieldType.DATETIME.withNullable(true));
    assertPortable("timestamp", FieldType.logicalType(SqlTypes.TIMESTAMP));
    assertPortable("array<timestamp>", FieldType.array(FieldType.logicalType(new NanosInstant())));
    assertPortable("timestamp", FieldType.logicalType(SqlTypes.DATE));
    assertPortable("timestamp", FieldType.logicalType(SqlTypes.TIME));
    assertPortable("timestamp", FieldType.logicalType(SqlTypes.DATETIME));
    assertPortable("string", FieldType.logicalType(EnumerationType.create("red")));
    assertPortable("string", FieldType.logicalType(VariableString.of(9)));
    assertPortable("string", FieldType.logicalType(FixedString.of(9)));
    assertPortable("bytes", FieldType.logicalType(FixedBytes.of(9)));
    assertPortable("bytes", FieldType.logicalType(VariableBytes.of(9)));
  }

  @Test
  public void aTypeIsAsPortableAsItsParts() {
    assertOpaque("array<iterable<string>>", FieldType.array(TEXTS));
    assertOpaque("map<string,iterable<string>>", FieldType.map(FieldType.STRING, TEXTS));
    assertOpaque(
        "row<texts: iterable<string>>",
        FieldType.row(Schema.builder().addField("texts", TEXTS).build()));
  }

  private static void assertPortable(String name, FieldType type) {
    assertEquals(name, PortableTypes.nameOf(type));
    assertTrue(name, PortableTypes.isPortable(type));
  }

  private static void assertOpaque(String name, FieldType type) {
    assertEquals(name, PortableTypes.nameOf(type));
    assertFalse(name, PortableTypes.isPortable(type));
  }
}
