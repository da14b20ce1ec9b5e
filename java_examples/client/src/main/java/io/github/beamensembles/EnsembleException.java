package io.github.beamensembles;

import static java.util.stream.Collectors.joining;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An ensemble that cannot be used: the file, the call or the input is wrong, or no service answers.
 *
 * <p>Thrown while the pipeline is built, before anything runs. {@link #problems} lists what is
 * wrong with the ensemble, all at once; it is empty where the service could not be asked.
 */
public class EnsembleException extends RuntimeException {

  private static final Pattern PROBLEM =
      Pattern.compile("^\\s*\\[([a-z0-9_]+)\\] (\\S.*?): (.*)$", Pattern.MULTILINE);
  private static final Pattern NULLABLE =
      Pattern.compile(
          "(?m)^(\\s*\\[output_schema_mismatch\\] .* as (.+), but the ensemble gives \\2\\?)$");

  /** What to do where a type's field cannot hold the ensemble's nulls. */
  static final String BOXED =
      "; declare the field with a boxed type and @Nullable, such as '@Nullable Double'";

  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}&&[^\n\t]]");

  private static final String TRACEBACK = "Traceback (most recent call last)";

  private final List<Problem> problems;

  EnsembleException(String message) {
    this(message, List.of(), null);
  }

  EnsembleException(String message, Throwable cause) {
    this(message, List.of(), cause);
  }

  private EnsembleException(String message, List<Problem> problems, Throwable cause) {
    super(printable(message), cause);
    this.problems = List.copyOf(problems);
  }

  /** The service's answer: one line that says what failed, then one line a problem. */
  static EnsembleException fromService(String text) {
    String found = printable(withoutTraceback(text.strip()));
    String said = NULLABLE.matcher(found).replaceAll("$1" + BOXED);
    return new EnsembleException(said, parse(said), null);
  }

  /** What the client itself found wrong, in the words that the service would use. */
  static EnsembleException of(String what, List<Problem> problems) {
    String lines = problems.stream().map(problem -> "\n  " + problem).collect(joining());
    return new EnsembleException(what + lines, problems, null);
  }

  /** What is wrong with the ensemble, in the order of the file. */
  public List<Problem> problems() {
    return problems;
  }

  /** Marks each character that a terminal acts on; whoever answers may send any. */
  private static String printable(String text) {
    return UNPRINTABLE.matcher(text.replace("\r", "")).replaceAll("\uFFFD");
  }

  private static List<Problem> parse(String text) {
    Matcher line = PROBLEM.matcher(text);
    return line.results().map(it -> new Problem(it.group(1), it.group(2), it.group(3))).toList();
  }

  /** Other services than ours answer with Python's traceback: its last line is the message. */
  private static String withoutTraceback(String text) {
    int start = text.indexOf(TRACEBACK);
    if (start < 0) {
      return text;
    }
    return (text.substring(0, start) + text.substring(text.lastIndexOf('\n') + 1)).strip();
  }
}
