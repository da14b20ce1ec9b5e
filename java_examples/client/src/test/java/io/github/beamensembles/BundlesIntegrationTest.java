package io.github.beamensembles;

import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.beam.sdk.Pipeline;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.testing.PAssert;
import org.apache.beam.sdk.testing.TestPipeline;
import org.apache.beam.sdk.transforms.Create;
import org.apache.beam.sdk.values.PCollection;
import org.apache.beam.sdk.values.Row;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Workers that share nothing with the service get a bundle from the runner. */
@RunWith(JUnit4.class)
public class BundlesIntegrationTest {

  private static final Schema PARCEL =
      Schema.builder().addDoubleField("weight").addDoubleField("length").build();
  private static final Schema GREETED =
      Schema.builder()
          .addFields(PARCEL.getFields())
          .addStringField("name")
          .addStringField("greeting")
          .build();

  @ClassRule public static final RealRunner RUNNER = new RealRunner();

  @Rule public final TestPipeline pipeline = RUNNER.pipeline();

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void workersGetABundleFromTheRunner() throws IOException, InterruptedException {
    withService(
        "tests.support.bundled",
        (address, bundle) ->
            checkGreetings(RunEnsemble.fromFile(bundle).withExpansionService(address)));
  }

  @Test
  public void bundlesComeOverTlsWithAToken() throws IOException, InterruptedException {
    withService(
        "tests.support.secured",
        (address, bundle) -> {
          RunEnsemble plain = RunEnsemble.fromFile(bundle).withExpansionService(address);
          RunEnsemble secured =
              plain.withTls(file("ca.pem"), file("client.pem"), file("client.key"));
          assertRefused(plain, "requires TLS");
          assertRefused(plain.withTls(file("ca.pem")), "requires a client certificate");
          assertRefused(secured, "requires a token");
          checkGreetings(secured.withTokenFile(file("token")));
        });
  }

  private static void assertRefused(RunEnsemble ensemble, String why) {
    PCollection<Row> parcels = parcels(Pipeline.create(RealRunner.options()));
    EnsembleException error = assertThrows(EnsembleException.class, () -> parcels.apply(ensemble));
    assertTrue(error.getMessage(), error.getMessage().contains(why));
  }

  private String file(String name) {
    return folder.getRoot().toPath().resolve(name).toString();
  }

  private static PCollection<Row> parcels(Pipeline pipeline) {
    return pipeline.apply(Create.of(parcel(1, 2), parcel(9, 8)).withRowSchema(PARCEL));
  }

  private void checkGreetings(RunEnsemble ensemble) {
    PAssert.that(parcels(pipeline).apply(ensemble))
        .containsInAnyOrder(greeted(1, 2, "small"), greeted(9, 8, "large"));
    pipeline.run().waitUntilFinish();
  }

  /** Runs a service that expands a bundle; gives its address and the bundle to a test. */
  private void withService(String program, BiConsumer<String, String> test)
      throws IOException, InterruptedException {
    String python = RealRunner.assumed(ServiceCommand.PYTHON_VARIABLE);
    String[] command = {python, "-m", program, folder.getRoot().getPath()};
    Process bundled =
        new ProcessBuilder(command)
            .directory(Path.of("..", "..").toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader said =
        new BufferedReader(
            new InputStreamReader(bundled.getInputStream(), StandardCharsets.UTF_8))) {
      String[] found = said.readLine().split(" ", 2);
      test.accept(found[0], found[1]);
    } finally {
      bundled.getOutputStream().close();
      if (!bundled.waitFor(5, TimeUnit.MINUTES)) {
        bundled.destroyForcibly();
      }
    }
  }

  private static Row parcel(double weight, double length) {
    return Row.withSchema(PARCEL).addValues(weight, length).build();
  }

  private static Row greeted(double weight, double length, String name) {
    return Row.withSchema(GREETED).addValues(weight, length, name, "hello, " + name).build();
  }
}
