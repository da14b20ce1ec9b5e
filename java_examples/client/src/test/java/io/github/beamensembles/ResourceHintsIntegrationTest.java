package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.beam.model.pipeline.v1.RunnerApi;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.util.construction.PipelineTranslation;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** What a node asks of its workers is in the pipeline that a runner gets. */
@RunWith(JUnit4.class)
public class ResourceHintsIntegrationTest {

  private static final RunEnsemble HUNGRY =
      RunEnsemble.fromText(
          """
          ensemble: hungry
          inputs: {chances: "array<double>[3]"}
          nodes:
            first: {apply: softmax, inputs: [chances], outputs: {once: {}}}
            second:
              apply: softmax
              inputs: [once]
              resources:
                min_ram: 2GB
                accelerator: "type:nvidia-tesla-t4;count:1;install-nvidia-driver"
              outputs: {twice: {}}
            third: {apply: argmax, inputs: [twice], outputs: {index: int64}}
          outputs: [index]
          """,
          "/");

  private static final Map<String, String> HINTS =
      Map.of(
          "beam:resources:min_ram_bytes:v1",
          "2000000000",
          "beam:resources:accelerator:v1",
          "type:nvidia-tesla-t4;count:1;install-nvidia-driver");

  private static final Schema CHANCES =
      Schema.builder().addArrayField("chances", FieldType.DOUBLE).build();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Test
  public void theStageHasThemAndNothingElse() {
    for (Encoding encoding : Encoding.values()) {
      Pipeline pipeline = Pipeline.create(RealRunner.options());
      pipeline.apply(Create.empty(CHANCES)).apply(HUNGRY.withEncoding(encoding));
      check(PipelineTranslation.toProto(pipeline).getComponents());
    }
  }

  private static void check(RunnerApi.Components components) {
    Set<String> hinted = new HashSet<>();
    Set<String> others = new HashSet<>();
    int inStage = 0;
    for (RunnerApi.PTransform transform : components.getTransformsMap().values()) {
      String environment = transform.getEnvironmentId();
      if (environment.isEmpty()) {
        continue;
      }
      Map<String, String> found = new TreeMap<>();
      components
          .getEnvironmentsOrThrow(environment)
          .getResourceHintsMap()
          .forEach((urn, value) -> found.put(urn, value.toStringUtf8()));
      boolean isInStage = transform.getUniqueName().contains("Stage(hungry/second)");
      assertEquals(transform.getUniqueName(), isInStage ? HINTS : Map.of(), found);
      (isInStage ? hinted : others).add(environment);
      inStage += isInStage ? 1 : 0;
    }
    assertTrue(inStage + " steps", inStage >= 3);
    assertEquals(hinted.toString(), 1, hinted.size());
    assertEquals("Java's and Python's: " + others, 2, others.size());
  }
}
