package io.github.beamensembles.examples.text;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.util.HashMap;
import java.util.List;
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
 * Says of texts what they are about, their mood, summary, French translation and keywords: JSON
 * lines in, JSON lines out.
 */
public final class Text {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Texts, one JSON object a line: id, text")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line: id, text, and what is said of it")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/text/text.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("Nodes to switch off: category,sentiment,summary,translation,keywords")
    List<String> getOff();

    void setOff(List<String> nodes);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema TEXT = Schema.builder().addInt64Field("id").addStringField("text").build();

  private Text() {}

  /** Gives the ensemble's parameters: all nodes are on but those that are named. */
  static Map<String, String> switches(List<String> off) {
    Map<String, String> on = new HashMap<>();
    for (String node : List.of("category", "sentiment", "summary", "translation", "keywords")) {
      on.put(node, "true");
    }
    for (String node : off == null ? List.<String>of() : off) {
      on.put(node, "false");
    }
    return on;
  }

  static Pipeline buildPipeline(Options options) {
    RunEnsemble text =
        RunEnsemble.fromFile(options.getEnsemble()).withParameters(switches(options.getOff()));
    if (options.getExpansionService() != null) {
      text = text.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("Parse", JsonToRow.withSchema(TEXT))
        .apply("Enrich", text)
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
