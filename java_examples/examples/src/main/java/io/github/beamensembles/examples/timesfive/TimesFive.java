package io.github.beamensembles.examples.timesfive;

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
import org.apache.beam.sdk.transforms.Filter;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptors;

/** Multiplies numbers by five: CSV in, JSON lines out. */
public final class TimesFive {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("CSV with the columns id and x, and a line of their names")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line: id, x, y")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/times_five/times_five.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  static final Schema NUMBER = Schema.builder().addInt64Field("id").addFloatField("x").build();

  static final String HEADER = "id,x";

  private TimesFive() {}

  static Row parse(String line) {
    String[] cells = line.split(",");
    return Row.withSchema(NUMBER)
        .addValues(Long.valueOf(cells[0]), Float.valueOf(cells[1]))
        .build();
  }

  static Pipeline buildPipeline(Options options) {
    RunEnsemble timesFive = RunEnsemble.fromFile(options.getEnsemble());
    if (options.getExpansionService() != null) {
      timesFive = timesFive.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    pipeline
        .apply("Read", TextIO.read().from(options.getInput()))
        .apply("SkipHeader", Filter.by(line -> !line.equals(HEADER)))
        .apply("Parse", MapElements.into(TypeDescriptors.rows()).via(TimesFive::parse))
        .setRowSchema(NUMBER)
        .apply("Multiply", timesFive)
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
