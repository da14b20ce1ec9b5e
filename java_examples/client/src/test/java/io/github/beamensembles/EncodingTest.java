package io.github.beamensembles;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.windowing.FixedWindows;
import org.apache.beam.sdk.transforms.windowing.Sessions;
import org.apache.beam.sdk.transforms.windowing.SlidingWindows;
import org.apache.beam.sdk.transforms.windowing.WindowFn;
import org.apache.beam.sdk.values.WindowingStrategy;
import org.joda.time.Duration;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link Encoding} and {@link ArrowMemory}: when rows are packed. */
@RunWith(JUnit4.class)
public class EncodingTest {

  private static final Duration MINUTE = Duration.standardMinutes(1);
  private static final WindowingStrategy<?, ?> GLOBAL = WindowingStrategy.globalDefault();

  private static Encoding chosen(WindowingStrategy<?, ?> windowing, boolean memoryIsOpen) {
    Optional<String> obstacle = memoryIsOpen ? Optional.empty() : Optional.of("of a test");
    return Encoding.of(Optional.empty(), windowing, () -> obstacle);
  }

  private static WindowingStrategy<?, ?> in(WindowFn<?, ?> windows) {
    return WindowingStrategy.of(windows);
  }

  @Test
  public void rowsArePackedInEveryWindowThatManyShare() {
    assertEquals(Encoding.ARROW, chosen(GLOBAL, true));
    assertEquals(Encoding.ARROW, chosen(in(FixedWindows.of(MINUTE)), true));
    assertEquals(
        Encoding.ARROW, chosen(in(SlidingWindows.of(MINUTE).every(MINUTE.dividedBy(2))), true));
    assertEquals(Encoding.ROWS, chosen(in(Sessions.withGapDuration(MINUTE)), true));
  }

  @Test
  public void rowsAreNotPackedWithoutMemory() {
    assertEquals(Encoding.ROWS, chosen(GLOBAL, false));
  }

  @Test
  public void whatIsAskedForIsTaken() {
    assertEquals(Encoding.ROWS, Encoding.of(Optional.of(Encoding.ROWS), GLOBAL, Optional::empty));
    assertEquals(
        Encoding.ARROW, Encoding.of(Optional.of(Encoding.ARROW), GLOBAL, () -> Optional.of("why")));
  }

  @Test
  public void whatArrowLacksIsSaidInOneSentence() {
    assertEquals(Optional.empty(), ArrowMemory.obstacle());
    Optional<String> why =
        ArrowMemory.obstacle(
            () -> {
              throw new NoClassDefFoundError("org/example/Missing");
            });

    assertEquals(
        Optional.of(
            "Arrow cannot be used with this Java and these libraries"
                + " (java.lang.NoClassDefFoundError: org/example/Missing)"),
        why);
  }

  /** What {@link #withoutTheFlag} runs. */
  public static final class Program {
    private Program() {}

    /** Says what becomes of rows, twice, and of a worker. */
    public static void main(String[] args) {
      System.out.println(Encoding.of(Optional.empty(), GLOBAL, ArrowMemory::obstacle));
      System.out.println(Encoding.of(Optional.empty(), GLOBAL, ArrowMemory::obstacle));
      try {
        new PackRows(Schema.builder().build()).open();
      } catch (IllegalStateException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  public void withoutTheFlagRowsAreNotPackedAndOneSentenceNamesIt()
      throws IOException, InterruptedException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process program =
        new ProcessBuilder(
                java, "-cp", System.getProperty("java.class.path"), Program.class.getName())
            .redirectErrorStream(true)
            .start();
    String said = new String(program.getInputStream().readAllBytes(), UTF_8);

    assertEquals(said, 0, program.waitFor());
    assertTrue(said, said.contains("ROWS\nROWS\n"));
    assertEquals(said, 2, said.split("start this program with " + ArrowMemory.FLAG, -1).length);
    assertTrue(said, said.contains("cannot pack rows with Arrow: start it with --add-opens="));
    assertTrue("the tests have the flag", ArrowMemory.isOpen());
  }
}
