package io.github.beamensembles.examples.detection;

import com.google.api.client.json.gson.GsonFactory;
import io.github.beamensembles.examples.detection.Detection.Found;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.gcp.bigquery.BigQueryUtils;
import org.apache.beam.sdk.managed.Managed;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.runners.TransformHierarchy;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.SchemaRegistry;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.util.RowJson.RowJsonDeserializer;
import org.apache.beam.sdk.util.RowJsonUtils;

/** Prints, a line each, the table that BigQueryIO would make of Found, its rows, and what writes them. */
public final class BigQueryTable {
  public static void main(String[] args) throws Exception {
    SchemaRegistry registry = SchemaRegistry.createDefault();
    Schema schema = registry.getSchema(Found.class);
    print(BigQueryUtils.toTableSchema(schema));
    var mapper = RowJsonUtils.newObjectMapperWith(RowJsonDeserializer.forSchema(schema));
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      Found found = registry.getFromRowFunction(Found.class).apply(RowJsonUtils.jsonToRow(mapper, line));
      print(BigQueryUtils.toTableRow(registry.getToRowFunction(Found.class).apply(found)));
    }
    Pipeline pipeline =
        Pipeline.create(
            PipelineOptionsFactory.fromArgs(
                    "--runner=PortableRunner",
                    "--jobEndpoint=localhost:1", // nothing runs
                    "--tempLocation=gs://bucket/tmp")
                .create());
    pipeline
        .apply(Create.empty(schema))
        .apply(Managed.write(Managed.BIGQUERY).withConfig(Map.of("table", "project:dataset.table")));
    pipeline.traverseTopologically(new Names());
  }

  static void print(Object json) throws Exception {
    System.out.println(GsonFactory.getDefaultInstance().toString(json));
  }

  static class Names extends Pipeline.PipelineVisitor.Defaults {
    @Override
    public CompositeBehavior enterCompositeTransform(TransformHierarchy.Node node) {
      if (node.getTransform() != null) {
        System.out.println(node.getTransform().getClass().getName());
      }
      return CompositeBehavior.ENTER_TRANSFORM;
    }
  }
}
