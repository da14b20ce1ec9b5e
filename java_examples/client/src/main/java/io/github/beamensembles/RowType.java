package io.github.beamensembles;

import java.io.Serializable;
import java.util.Optional;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.coders.Coder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.schemas.NoSuchSchemaException;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.SchemaCoder;
import org.apache.beam.sdk.schemas.SchemaRegistry;
import org.apache.beam.sdk.transforms.SerializableFunction;
import org.apache.beam.sdk.transforms.SerializableFunctions;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptor;

/** What the caller takes scored rows as: rows, or objects of a type that has a schema. */
abstract class RowType<T> implements Serializable {

  /** The fields of the caller's type; absent where it takes rows as they come. */
  abstract Optional<Schema> schema();

  boolean isRow() {
    return schema().isEmpty();
  }

  /** Encodes values made of rows of {@code schema}. */
  abstract Coder<T> coder(Schema schema);

  abstract SerializableFunction<Row, T> fromRow();

  static RowType<Row> rows() {
    return new RowType<>() {
      @Override
      Optional<Schema> schema() {
        return Optional.empty();
      }

      @Override
      Coder<Row> coder(Schema schema) {
        return RowCoder.of(schema);
      }

      @Override
      SerializableFunction<Row, Row> fromRow() {
        return SerializableFunctions.identity();
      }
    };
  }

  static <T> RowType<T> of(Class<T> type, Pipeline pipeline) {
    if (type.equals(Row.class)) {
      @SuppressWarnings("unchecked") // T is Row
      RowType<T> rows = (RowType<T>) rows();
      return rows;
    }
    return of(schemaCoder(type, pipeline.getSchemaRegistry()));
  }

  /**
   * Returns the coder of a type.
   *
   * @throws IllegalArgumentException the type is a Java record, which Beam takes for a type without
   *     fields
   */
  static <T> SchemaCoder<T> withFields(SchemaCoder<T> coder) {
    Class<? super T> type = coder.getEncodedTypeDescriptor().getRawType();
    if (type.isRecord() && coder.getSchema().getFieldCount() == 0) {
      throw new IllegalArgumentException(
          type.getName()
              + " is a Java record, in which Beam finds no fields; make it a class with public"
              + " fields and @DefaultSchema(JavaFieldSchema.class), or an AutoValue class with"
              + " @DefaultSchema(AutoValueSchema.class)");
    }
    return coder;
  }

  private static <T> SchemaCoder<T> schemaCoder(Class<T> type, SchemaRegistry registry) {
    try {
      return withFields(registry.getSchemaCoder(TypeDescriptor.of(type)));
    } catch (NoSuchSchemaException e) {
      throw new IllegalArgumentException(
          type.getName() + " has no schema: annotate it with @DefaultSchema, or register one", e);
    }
  }

  private static <T> RowType<T> of(SchemaCoder<T> coder) {
    return new RowType<>() {
      @Override
      Optional<Schema> schema() {
        return Optional.of(coder.getSchema());
      }

      @Override
      Coder<T> coder(Schema schema) {
        return coder;
      }

      @Override
      SerializableFunction<Row, T> fromRow() {
        return coder.getFromRowFunction();
      }
    };
  }
}
