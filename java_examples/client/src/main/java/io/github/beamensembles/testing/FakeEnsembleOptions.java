package io.github.beamensembles.testing;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.Map;
import org.apache.beam.sdk.options.Description;
import org.apache.beam.sdk.options.Hidden;
import org.apache.beam.sdk.options.PipelineOptions;
import org.jspecify.annotations.Nullable;

/** The ensembles that are replaced in a pipeline; {@link FakeEnsemble#replace} sets them. */
@Hidden
public interface FakeEnsembleOptions extends PipelineOptions {

  /** What answers for each ensemble, by the ensemble's name. */
  @JsonIgnore
  @Description("What answers in the place of each ensemble, by the ensemble's name.")
  @Nullable Map<String, FakeEnsemble<?, ?>> getFakeEnsembles();

  /** Replaces all of them; null runs the real ones. */
  void setFakeEnsembles(@Nullable Map<String, FakeEnsemble<?, ?>> fakes);
}
