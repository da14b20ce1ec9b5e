package io.github.beamensembles.examples.triage;

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
 * Sorts support tickets; a language model reads those about which a small classifier is unsure:
 * JSON lines in, JSON lines out.
 */
public final class Triage {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Tickets, one JSON object a line: id, ticket")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/triage/triage.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("The language model's server: http://HOST:PORT/v1")
    @Validation.Required
    String getServer();

    void setServer(String url);

    @Description("The model's name there")
    @Default.String("reader")
    String getModel();

    void setModel(String name);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema TICKET =
      Schema.builder().addInt64Field("id").addStringField("ticket").build();

  private Triage() {}

  static Pipeline buildPipeline(Options options) {
    RunEnsemble triage =
        RunEnsemble.fromFile(options.getEnsemble())
            .withParameters(Map.of("server", options.getServer(), "model", options.getModel()));
    if (options.getExpansionService() != null) {
      triage = triage.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("Parse", JsonToRow.withSchema(TICKET))
        .apply("Sort", triage)
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
