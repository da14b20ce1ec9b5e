package io.github.beamensembles.examples.detection;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.GenericRecord;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.extensions.avro.coders.AvroCoder;
import org.apache.beam.sdk.extensions.avro.schemas.utils.AvroUtils;
import org.apache.beam.sdk.io.FileIO;
import org.apache.beam.sdk.io.FileSystems;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.io.fs.ResourceId;
import org.apache.beam.sdk.io.parquet.ParquetIO;
import org.apache.beam.sdk.managed.Managed;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.transforms.Convert;
import org.apache.beam.sdk.schemas.transforms.Select;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptor;

/**
 * Finds things in pictures: the files of a pattern in; JSON lines, Parquet and, with a flag, a
 * BigQuery table out.
 */
public final class Detection {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Pattern of the picture files")
    @Validation.Required
    String getInput();

    void setInput(String pattern);

    @Description("The file to write, JSON lines; FILE.parquet and FILE.errors beside it")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The table to write too: PROJECT:DATASET.TABLE (mvn -Pbigquery package)")
    String getBigquery();

    void setBigquery(String table);

    @Description("The ensemble file")
    @Default.String("examples/detection/detection.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  /** A row of the input: a file's name, by which its answer is known again, and what is in it. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Picture {
    public String file;
    public byte[] data;
  }

  /** Something in a picture: what it is, left, top, right, bottom in pixels, how sure that is. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Thing {
    public String label;
    public List<Float> box;
    public float score;
  }

  /** A row of the output. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Found {
    public String file;
    public List<Thing> found;
  }

  static class ReadPicture extends DoFn<FileIO.ReadableFile, Picture> {
    @ProcessElement
    public void read(@Element FileIO.ReadableFile file, OutputReceiver<Picture> pictures)
        throws IOException {
      Picture picture = new Picture();
      picture.file = file.getMetadata().resourceId().getFilename();
      picture.data = file.readFullyAsBytes();
      pictures.output(picture);
    }
  }

  private Detection() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble detection = RunEnsemble.fromFile(options.getEnsemble());
    if (options.getExpansionService() != null) {
      detection = detection.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    WithFailures.Result<PCollection<Found>, Row> result =
        pipeline
            .apply("Match", FileIO.match().filepattern(options.getInput()))
            .apply("Open", FileIO.readMatches())
            .apply("Read", ParDo.of(new ReadPicture()))
            .apply("Find", detection.withErrors().as(Found.class));
    result
        .output()
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
    result
        .failures()
        .apply("Failure", Select.fieldNames("element.file", "code", "msg"))
        .apply("FormatFailure", ToJson.of())
        .apply(
            "WriteFailures", TextIO.write().to(options.getOutput() + ".errors").withoutSharding());
    PCollection<Row> rows = result.output().apply("Rows", Convert.toRows());
    writeParquet(rows, options.getOutput() + ".parquet");
    if (options.getBigquery() != null) {
      Map<String, Object> table = Map.of("table", options.getBigquery());
      rows.apply("WriteTable", Managed.write(Managed.BIGQUERY).withConfig(table));
    }
    return pipeline;
  }

  /** Writes rows to one file. ParquetIO takes Avro's records. */
  static void writeParquet(PCollection<Row> rows, String path) {
    org.apache.avro.Schema schema = AvroUtils.toAvroSchema(rows.getSchema());
    ResourceId file = FileSystems.matchNewResource(path, false);
    rows.apply(
            "Record",
            MapElements.into(TypeDescriptor.of(GenericRecord.class))
                .via(AvroUtils.getRowToGenericRecordFunction(schema)))
        .setCoder(AvroCoder.of(schema))
        .apply(
            "WriteParquet",
            FileIO.<GenericRecord>write()
                .via(ParquetIO.sink(schema))
                .to(file.getCurrentDirectory().toString())
                .withNaming((window, pane, shards, shard, compression) -> file.getFilename())
                .withNumShards(1));
  }

  public static void main(String[] args) {
    Options options = PipelineOptionsFactory.fromArgs(args).withValidation().as(Options.class);
    try (LoopbackWorker worker = LoopbackWorker.start(options)) {
      buildPipeline(options).run().waitUntilFinish();
    } catch (EnsembleException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
