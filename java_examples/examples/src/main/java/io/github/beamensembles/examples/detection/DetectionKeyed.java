package io.github.beamensembles.examples.detection;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.io.IOException;
import java.util.List;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.coders.KvCoder;
import org.apache.beam.sdk.coders.RowCoder;
import org.apache.beam.sdk.coders.StringUtf8Coder;
import org.apache.beam.sdk.io.FileIO;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.values.KV;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptor;

/**
 * Finds things in pictures that have keys: pairs of a file's name and a row go in, and come out as
 * such pairs. Whoever joins or groups by keys next starts so.
 */
public final class DetectionKeyed {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Pattern of the picture files")
    @Validation.Required
    String getInput();

    void setInput(String pattern);

    @Description("The file to write, JSON lines; FILE.errors beside it")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/detection/detection.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  /** The row of a pair: a picture file, as it was read. */
  static final Schema PICTURE = Schema.builder().addByteArrayField("data").build();

  /** A line of the output. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Labels {
    public String file;
    public List<String> labels;

    static Labels of(KV<String, Row> pair) {
      Labels labels = new Labels();
      labels.file = pair.getKey();
      labels.labels =
          pair.getValue().<Row>getArray("found").stream()
              .map(thing -> thing.getString("label"))
              .toList();
      return labels;
    }
  }

  /** A line of the errors. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Failure {
    public String file;
    public String code;
    public String msg;

    static Failure of(KV<String, Row> pair) {
      Failure failure = new Failure();
      failure.file = pair.getKey();
      failure.code = pair.getValue().getString("code");
      failure.msg = pair.getValue().getString("msg");
      return failure;
    }
  }

  /** Reads a file; its name is the key. */
  static class ReadPicture extends DoFn<FileIO.ReadableFile, KV<String, Row>> {
    @ProcessElement
    public void read(@Element FileIO.ReadableFile file, OutputReceiver<KV<String, Row>> pictures)
        throws IOException {
      String name = file.getMetadata().resourceId().getFilename();
      Row picture = Row.withSchema(PICTURE).addValue(file.readFullyAsBytes()).build();
      pictures.output(KV.of(name, picture));
    }
  }

  private DetectionKeyed() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble detection = RunEnsemble.fromFile(options.getEnsemble()).withPassThrough();
    if (options.getExpansionService() != null) {
      detection = detection.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    WithFailures.Result<PCollection<KV<String, Row>>, KV<String, Row>> result =
        pipeline
            .apply("Match", FileIO.match().filepattern(options.getInput()))
            .apply("Open", FileIO.readMatches())
            .apply("Read", ParDo.of(new ReadPicture()))
            .setCoder(KvCoder.of(StringUtf8Coder.of(), RowCoder.of(PICTURE)))
            .apply("Find", detection.withErrors().<String>keyed());
    result
        .output()
        .apply("Labels", MapElements.into(TypeDescriptor.of(Labels.class)).via(Labels::of))
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
    result
        .failures()
        .apply("Failure", MapElements.into(TypeDescriptor.of(Failure.class)).via(Failure::of))
        .apply("FormatFailure", ToJson.of())
        .apply(
            "WriteFailures", TextIO.write().to(options.getOutput() + ".errors").withoutSharding());
    return pipeline;
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
