package io.github.beamensembles.tests;

import com.google.api.services.dataflow.model.DataflowPackage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.beam.runners.dataflow.util.PackageUtil.StagedFile;
import org.apache.beam.runners.dataflow.util.Stager;
import org.apache.beam.sdk.options.PipelineOptions;

/** Keeps what would go to a bucket in the folder that the property {@code kept} names. */
public final class KeptStager implements Stager {

  private KeptStager() {}

  /** Called by Beam. */
  public static KeptStager fromOptions(PipelineOptions options) {
    return new KeptStager();
  }

  /** Takes the program's jars to be there. */
  @Override
  public List<DataflowPackage> stageFiles(List<StagedFile> files) {
    return List.of();
  }

  /** Writes the description of the pipeline. */
  @Override
  public DataflowPackage stageToFile(byte[] bytes, String name) {
    try {
      Path file = Files.write(Path.of(System.getProperty("kept"), name), bytes);
      return new DataflowPackage().setName(name).setLocation(file.toString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
