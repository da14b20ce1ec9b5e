package io.github.beamensembles.examples.ownhandler;

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
import org.apache.beam.sdk.schemas.transforms.Join;
import org.apache.beam.sdk.schemas.transforms.Select;
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;

/**
 * Reads the digits of cheques, joins them with what a clerk typed, and says what becomes of each:
 * two ensembles with the pipeline's own join between them.
 */
public final class OwnHandler {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Images, one JSON object a line: id, pixels")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("What a clerk typed, one JSON object a line: id, typed")
    @Validation.Required
    String getTyped();

    void setTyped(String file);

    @Description("The file to write, one JSON object a line: id, digit, typed, decision")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The first ensemble file")
    @Default.String("examples/own_handler/neighbours.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("The second ensemble file")
    @Default.String("examples/own_handler/review.yaml")
    String getReview();

    void setReview(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema IMAGE =
      Schema.builder().addInt64Field("id").addArrayField("pixels", FieldType.DOUBLE).build();
  static final Schema TYPED = Schema.builder().addInt64Field("id").addInt64Field("typed").build();

  private OwnHandler() {}

  static Pipeline buildPipeline(Options options) {
    Pipeline pipeline = Pipeline.create(options);
    PCollection<Row> read =
        pipeline
            .apply("ReadImages", TextIO.read().from(options.getInput()))
            .apply("ParseImages", JsonToRow.withSchema(IMAGE))
            .apply("Neighbours", ensemble(options.getEnsemble(), options).withPassThrough("id"));
    PCollection<Row> typed =
        pipeline
            .apply("ReadTyped", TextIO.read().from(options.getTyped()))
            .apply("ParseTyped", JsonToRow.withSchema(TYPED));
    read.apply("Join", Join.<Row, Row>innerJoin(typed).using("id"))
        .apply("Flatten", Select.fieldNames("lhs.id", "lhs.digit", "lhs.votes", "rhs.typed"))
        .apply(
            "Review",
            ensemble(options.getReview(), options).withPassThrough("id", "digit", "typed"))
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
    return pipeline;
  }

  private static RunEnsemble ensemble(String file, Options options) {
    RunEnsemble ensemble = RunEnsemble.fromFile(file);
    String address = options.getExpansionService();
    return address == null ? ensemble : ensemble.withExpansionService(address);
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
