package io.github.beamensembles.examples.fraud;

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
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.ToJson;

/**
 * Says of payments whether to accept them, to block them, or to have somebody look: JSON lines in,
 * JSON lines out.
 */
public final class Fraud {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Payments, one JSON object a line")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/fraud/fraud.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("The URL of the accounts; a file is one beside the ensemble")
    @Default.String("sqlite:///models/accounts.db")
    String getDatabase();

    void setDatabase(String url);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  /** The last field is what a payment turned out to be, which no model reads. */
  static final Schema PAYMENT =
      Schema.builder()
          .addInt64Field("id")
          .addStringField("account")
          .addStringField("category")
          .addDoubleField("amount")
          .addInt64Field("hour")
          .addBooleanField("online")
          .addStringField("country")
          .addInt64Field("fraud")
          .build();

  private Fraud() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble fraud =
        RunEnsemble.fromFile(options.getEnsemble())
            .withParameters(Map.of("database", options.getDatabase()))
            .withPassThrough("id", "fraud");
    if (options.getExpansionService() != null) {
      fraud = fraud.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("Parse", JsonToRow.withSchema(PAYMENT))
        .apply("Score", fraud)
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
