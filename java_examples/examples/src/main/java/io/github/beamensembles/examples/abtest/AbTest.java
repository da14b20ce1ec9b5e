package io.github.beamensembles.examples.abtest;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.ToJson;

/**
 * Names handwritten digits by a champion or, for a tenth of the users, by its challenger: JSON
 * lines in, JSON lines out.
 */
public final class AbTest {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Images, one JSON object a line: id, user, pixels, truth")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line: id, truth, arm, digit")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/ab_test/ab_test.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema IMAGE =
      Schema.builder()
          .addInt64Field("id")
          .addStringField("user")
          .addArrayField("pixels", FieldType.DOUBLE)
          .addInt64Field("truth")
          .build();

  private AbTest() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble abTest = RunEnsemble.fromFile(options.getEnsemble()).withPassThrough("id", "truth");
    if (options.getExpansionService() != null) {
      abTest = abTest.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("Parse", JsonToRow.withSchema(IMAGE))
        .apply("Name", abTest)
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
