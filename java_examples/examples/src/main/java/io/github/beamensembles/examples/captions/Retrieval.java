package io.github.beamensembles.examples.captions;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.util.Map;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.schemas.transforms.Select;
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.values.PCollectionRowTuple;

/**
 * Finds, among the texts of each row, the three that fit its image best: JSON lines in, JSON lines
 * out. Rows whose image cannot be read go to a file beside the output, with the reason.
 */
public final class Retrieval {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Images, one JSON object a line: id, url, texts, truth")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("What the URLs lie below; a relative folder is relative to the ensemble file")
    @Default.String(".")
    String getPictures();

    void setPictures(String place);

    @Description("The ensemble file")
    @Default.String("examples/captions/retrieval.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema ROW =
      Schema.builder()
          .addInt64Field("id")
          .addStringField("url")
          .addArrayField("texts", FieldType.STRING)
          .addStringField("truth")
          .build();

  private Retrieval() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble ensemble =
        RunEnsemble.fromFile(options.getEnsemble())
            .withParameters(Map.of("pictures", options.getPictures()));
    if (options.getExpansionService() != null) {
      ensemble = ensemble.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    PCollectionRowTuple rows =
        pipeline
            .apply("Read", TextIO.read().from(options.getInput()))
            .apply("Parse", JsonToRow.withSchema(ROW))
            .apply("Rank", ensemble.withErrors());
    rows.get("output")
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
    rows.get("errors")
        .apply("Reasons", Select.fieldNames("element.id", "element.url", "code", "msg"))
        .apply("FormatErrors", ToJson.of())
        .apply("WriteErrors", TextIO.write().to(options.getOutput() + ".errors").withoutSharding());
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
