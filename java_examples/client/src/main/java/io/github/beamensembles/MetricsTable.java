package io.github.beamensembles;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The tables of metrics, letter by letter as the clients in Go and Python write it. */
final class MetricsTable {

  private static final List<String> HEADINGS =
      List.of(
          "node",
          "answered",
          "failed",
          "skipped",
          "batches",
          "rows per batch",
          "ms per batch",
          "load ms",
          "model MiB",
          "arms, agreement, usage");

  private static final List<String> INPUT_HEADINGS =
      List.of(
          "input",
          "compared",
          "null",
          "out of range",
          "unseen",
          "windows",
          "drifted",
          "stability index");

  private MetricsTable() {}

  /** The table of nodes. */
  static String ofNodes(List<NodeMetrics> nodes) {
    return of(HEADINGS, nodes.stream().map(NodeMetrics::cells).toList());
  }

  /** The table of inputs. */
  static String ofInputs(List<InputMetrics> inputs) {
    return of(INPUT_HEADINGS, inputs.stream().map(InputMetrics::cells).toList());
  }

  /** The headings and the rows as lines of columns: texts to the left, numbers to the right. */
  private static String of(List<String> headings, List<List<String>> rows) {
    List<List<String>> table = new ArrayList<>();
    table.add(headings);
    table.addAll(rows);
    int[] widths =
        IntStream.range(0, headings.size())
            .map(at -> table.stream().mapToInt(cells -> length(cells.get(at))).max().orElse(0))
            .toArray();
    return table.stream().map(cells -> line(cells, widths)).collect(Collectors.joining("\n"));
  }

  private static String line(List<String> cells, int[] widths) {
    int last = cells.size() - 1;
    return IntStream.rangeClosed(0, last)
        .mapToObj(
            at -> {
              String space = " ".repeat(widths[at] - length(cells.get(at)));
              return at == 0 || at == last ? cells.get(at) + space : space + cells.get(at);
            })
        .collect(Collectors.joining("  "))
        .stripTrailing();
  }

  private static int length(String text) {
    return text.codePointCount(0, text.length());
  }
}
