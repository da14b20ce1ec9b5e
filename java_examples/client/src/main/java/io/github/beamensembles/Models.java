package io.github.beamensembles;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.pipeline.v1.SchemaApi;
import org.apache.beam.sdk.coders.ByteArrayCoder;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.SchemaTranslation;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.util.construction.External;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.PCollectionTuple;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TupleTag;

/** The ensemble as one external transform: rows in, rows out, whatever they cross as. */
final class Models {

  private static final String URN = "beam:expansion:payload:schematransform:v1";

  /** The answer's annotation with the schema of the rows in an output's batches. */
  private static final String SCHEMA = "io.github.beamensembles:schema:";

  private final byte[] payload;
  private final ServiceEndpoint service;
  private final SecuredArtifacts artifacts = new SecuredArtifacts();
  private final Map<String, Schema> schemas = new HashMap<>();

  private Models(byte[] payload, ServiceEndpoint service) {
    this.payload = payload;
    this.service = service;
  }

  /** Puts the ensemble that {@code config} asks for into the pipeline; gives its outputs. */
  static PCollectionTuple apply(
      Row config, ServiceEndpoint service, Encoding encoding, PCollection<Row> rows) {
    Models models = new Models(ConfigRow.toPayload(config), service);
    return switch (encoding) {
      case ROWS -> models.applyTo(rows);
      case ARROW -> models.applyToBatches(rows);
    };
  }

  private PCollectionTuple applyToBatches(PCollection<Row> rows) {
    PCollection<byte[]> batches =
        rows.apply("Pack", ParDo.of(new PackRows(rows.getSchema()))).setCoder(ByteArrayCoder.of());
    PCollectionTuple received = applyTo(batches);
    PCollectionTuple unpacked = PCollectionTuple.empty(rows.getPipeline());
    for (TupleTag<?> tag : received.getAll().keySet()) {
      unpacked = unpacked.and(new TupleTag<>(tag.getId()), unpack(received, tag.getId()));
    }
    return unpacked;
  }

  private PCollection<Row> unpack(PCollectionTuple received, String output) {
    String step = output.equals(Answer.ERRORS) ? "UnpackErrors" : "Unpack";
    Schema schema = schemas.get(output);
    if (schema == null) {
      throw new EnsembleException(
          "the service at "
              + service.address()
              + " does not say which rows it gives in batches: use a newer one, or"
              + " withEncoding(Encoding.ROWS)");
    }
    return received
        .get(new TupleTag<byte[]>(output))
        .apply(step, ParDo.of(new UnpackRows(schema)))
        .setRowSchema(schema);
  }

  private <T> PCollectionTuple applyTo(PCollection<T> elements) {
    External.MultiOutputExpandableTransform<PCollection<T>> external =
        External.<PCollection<T>, T>of(
                URN,
                payload,
                service.address(),
                ServiceClient.factory(service, this::rememberSchemas, artifacts))
            .withMultiOutputs();
    PCollectionTuple received = elements.apply("Models", external);
    artifacts.restore(external);
    return received;
  }

  /** Batches are bytes to Beam, so the service says beside them what they hold. */
  private void rememberSchemas(ExpansionResponse response) {
    Map<String, ?> annotations = response.getTransform().getAnnotationsMap();
    annotations.forEach(
        (name, value) -> {
          if (name.startsWith(SCHEMA)) {
            schemas.put(name.substring(SCHEMA.length()), parsed(BeamGrpc.bytes(value)));
          }
        });
  }

  private static Schema parsed(byte[] schema) {
    try {
      return SchemaTranslation.schemaFromProto(SchemaApi.Schema.parseFrom(schema));
    } catch (IOException e) {
      throw new EnsembleException("the service says which rows it gives in no known way", e);
    }
  }
}
