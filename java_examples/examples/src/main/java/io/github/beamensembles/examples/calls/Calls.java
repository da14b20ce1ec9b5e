package io.github.beamensembles.examples.calls;

import io.github.beamensembles.EnsembleException;
import io.github.beamensembles.LoopbackWorker;
import io.github.beamensembles.RunEnsemble;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.io.FileSystems;
import org.apache.beam.sdk.io.TextIO;
import org.apache.beam.sdk.options.Default;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.options.Validation;
import org.apache.beam.sdk.schemas.JavaFieldSchema;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.annotations.DefaultSchema;
import org.apache.beam.sdk.schemas.annotations.SchemaFieldName;
import org.apache.beam.sdk.schemas.transforms.Select;
import org.apache.beam.sdk.transforms.JsonToRow;
import org.apache.beam.sdk.transforms.MapElements;
import org.apache.beam.sdk.transforms.ToJson;
import org.apache.beam.sdk.transforms.WithFailures;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.apache.beam.sdk.values.TypeDescriptor;

/**
 * Recommends what to do about recorded calls, by what was said and how: sound files in, JSON lines
 * out. A recording that cannot be heard is a line of the errors.
 */
public final class Calls {

  /** What the program is told. */
  public interface Options extends PipelineOptions {
    @Description("Calls, one JSON object a line: id, recording, said, expected")
    @Validation.Required
    String getInput();

    void setInput(String file);

    @Description("The file to write, one JSON object a line; the errors are beside it")
    @Validation.Required
    String getOutput();

    void setOutput(String file);

    @Description("The ensemble file")
    @Default.String("examples/calls/calls.yaml")
    String getEnsemble();

    void setEnsemble(String file);

    @Description("host:port of the beam-ensembles service; one is started where this is not given")
    String getExpansionService();

    void setExpansionService(String address);
  }

  /** A line of the input: where a recording is, what was said and what should be done. */
  static final Schema LISTED =
      Schema.builder()
          .addInt64Field("id")
          .addStringField("recording")
          .addStringField("said")
          .addStringField("expected")
          .build();

  /** A row for the ensemble: the call with its recording. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Call {
    public long id;
    public byte[] audio = {};
    public String said = "";
    public String expected = "";
  }

  /** A row of the output. It does not name the audio, which therefore does not come back. */
  @DefaultSchema(JavaFieldSchema.class)
  public static class Recommended {
    public long id;
    public String said = "";
    public String expected = "";
    public String transcript = "";
    public String intent = "";

    @SchemaFieldName("intent_score")
    public double intentScore;

    public String sentiment = "";

    @SchemaFieldName("sentiment_score")
    public double sentimentScore;

    public String recommendation = "";
  }

  private Calls() {}

  static Call readCall(Row listed) {
    Call call = new Call();
    call.id = listed.getInt64("id");
    call.audio = contents(listed.getString("recording"));
    call.said = listed.getString("said");
    call.expected = listed.getString("expected");
    return call;
  }

  private static byte[] contents(String file) {
    try (InputStream recording =
        Channels.newInputStream(
            FileSystems.open(FileSystems.matchSingleFileSpec(file).resourceId()))) {
      return recording.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Pipeline buildPipeline(Options options) {
    RunEnsemble ensemble = RunEnsemble.fromFile(options.getEnsemble());
    if (options.getExpansionService() != null) {
      ensemble = ensemble.withExpansionService(options.getExpansionService());
    }
    Pipeline pipeline = Pipeline.create(options);
    WithFailures.Result<PCollection<Recommended>, Row> result =
        pipeline
            .apply("Read", TextIO.read().from(options.getInput()))
            .apply("Parse", JsonToRow.withSchema(LISTED))
            .apply(
                "Listen",
                MapElements.into(TypeDescriptor.of(Call.class)).via((Row row) -> readCall(row)))
            .apply("Recommend", ensemble.withErrors().as(Recommended.class));
    result
        .output()
        .apply("Format", ToJson.of())
        .apply("Write", TextIO.write().to(options.getOutput()).withoutSharding());
    result
        .failures()
        .apply("WithoutAudio", Select.fieldNames("element.id", "node", "code", "msg"))
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
