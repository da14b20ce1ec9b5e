package io.github.beamensembles;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.JUnit4;

/** Tests for {@link EnsembleException}. */
@RunWith(JUnit4.class)
public class EnsembleExceptionTest {

  private static final String RIGHT_TO_LEFT = Character.toString(0x202E);

  private static final String TEXT =
      """
      ensemble 'digits' is not valid: 3 problems
        [unknown_column] nodes.vote.inputs[1]: no column 'forst'; did you mean 'forest'? Columns: a
        [bad_name] inputs["cust id"]: 'cust id' cannot be a name: no spaces
        [bad_weights] nodes.vote.weights: 2 weights: [1, 2]""";

  @Test
  public void aProblemIsALineOfTheServicesText() {
    EnsembleException error = EnsembleException.fromService(TEXT + "\n");

    assertEquals(TEXT, error.getMessage());
    assertEquals(
        List.of(
            new Problem(
                "unknown_column",
                "nodes.vote.inputs[1]",
                "no column 'forst'; did you mean 'forest'? Columns: a"),
            new Problem("bad_name", "inputs[\"cust id\"]", "'cust id' cannot be a name: no spaces"),
            new Problem("bad_weights", "nodes.vote.weights", "2 weights: [1, 2]")),
        error.problems());
  }

  @Test
  public void nothingInItActsOnATerminal() {
    String said =
        "not valid: 1 problem\r\n  [bad_name] \033[2Jinputs: "
            + RIGHT_TO_LEFT
            + "ünsafe\007\tname\n";
    EnsembleException error = EnsembleException.fromService(said);

    assertEquals(
        "not valid: 1 problem\n  [bad_name] \uFFFD[2Jinputs: \uFFFDünsafe\uFFFD\tname",
        error.getMessage());
    assertEquals("\uFFFDünsafe\uFFFD\tname", error.problems().get(0).message());
    assertEquals("\uFFFD]0;x\uFFFD", new EnsembleException("\033]0;x\007").getMessage());
  }

  @Test
  public void otherTextHasNoProblems() {
    EnsembleException error = EnsembleException.fromService("refused: [no] such thing");

    assertEquals("refused: [no] such thing", error.getMessage());
    assertEquals(List.of(), error.problems());
  }

  @Test
  public void aTracebackIsCutToItsLastLine() {
    EnsembleException error =
        EnsembleException.fromService(
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
                + "KeyError: 'beam:transform:unknown'\n");

    assertEquals("KeyError: 'beam:transform:unknown'", error.getMessage());
  }

  @Test
  public void problemsFoundHereReadLikeTheServices() {
    Problem problem = new Problem("missing_file", "$", "there is no file 'x.yaml'");
    EnsembleException here = EnsembleException.of("not readable", List.of(problem));

    assertEquals(here.problems(), EnsembleException.fromService(here.getMessage()).problems());
  }

  @Test
  public void aFieldThatMayBeNullIsToldInJavasWords() {
    EnsembleException error =
        EnsembleException.fromService(
            "not valid: 2 problems\n"
                + "  [output_schema_mismatch] output_schema.p: the caller's type has 'p' as double,"
                + " but the ensemble gives double?\n"
                + "  [output_schema_mismatch] output_schema.q: the caller's type has 'q' as double,"
                + " but the ensemble gives string?");

    assertTrue(
        error.problems().get(0).message(),
        error
            .problems()
            .get(0)
            .message()
            .endsWith(
                "gives double?; declare the field with a boxed type and @Nullable, such as"
                    + " '@Nullable Double'"));
    assertTrue(error.problems().get(1).message().endsWith("gives string?"));
  }
}
