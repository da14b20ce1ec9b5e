package io.github.beamensembles.examples.digits;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.StreamingOptions;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.ToJson;

/**
 * Reads images of handwritten digits, has the ensemble of {@code examples/digits} name them, and
 * writes the answers: JSON lines in, JSON lines out.
 */
public final class Digits {

  /** What the program is told. */
  public interface Options extends StreamingOptions {
    @Description("Images, one JSON object a line: id, pixels")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line: id, label, confidence and more")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/digits/digits.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);

    @Description("On Flink, with --streaming: after how many elements a bundle ends")
    Long getMaxBundleSize();

    void setMaxBundleSize(Long elements);
  }

  static final Schema IMAGE =
      Schema.builder().addInt64Field("id").addArrayField("pixels", FieldType.DOUBLE).build();

  private Digits() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble digits = RunEnsemble.fromFile(options.getEnsemble()).withPassThrough("id");
    if (options.getExpansionService() != null) {
      digits = digits.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("Parse", JsonToRow.withSchema(IMAGE))
        .apply("Vote", digits)
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
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
