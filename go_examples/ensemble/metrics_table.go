package ensemble

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// headings stand above the table, which is letter by letter that of the
// clients in Java and Python.
var headings = []string{
	"node", "answered", "failed", "skipped", "batches", "rows per batch", "ms per batch", "load ms", "model MiB",
	"arms, agreement, usage",
}

// String gives a table of the nodes, and one of the inputs that were compared.
func (m EnsembleMetrics) String() string {
	title := fmt.Sprintf("ensemble '%s'", m.Ensemble)
	if m.Refreshes != 0 || m.RefusedRefreshes != 0 {
		title += fmt.Sprintf(": refreshes %d, refused %d", m.Refreshes, m.RefusedRefreshes)
	}
	if m.RefusedRefreshesByGate != 0 {
		title += fmt.Sprintf(" (%d by the gate)", m.RefusedRefreshesByGate)
	}
	table := [][]string{headings}
	for _, node := range m.Nodes {
		table = append(table, node.cells())
	}
	all := append([]string{title}, linesOf(table)...)
	if len(m.Inputs) != 0 {
		table = [][]string{inputHeadings}
		for _, input := range m.Inputs {
			table = append(table, input.cells())
		}
		all = append(all, linesOf(table)...)
	}
	return strings.Join(all, "\n")
}

// linesOf writes the headings and the rows below them as columns.
func linesOf(table [][]string) []string {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, cells := range table {
		lines = append(lines, line(cells, widths))
	}
	return lines
}

// line writes texts to the left and numbers to the right.
func line(cells []string, widths []int) string {
	padded := make([]string, len(cells))
	for i, cell := range cells {
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i == 0 || i == len(cells)-1 {
			padded[i] = cell + space
		} else {
			padded[i] = space + cell
		}
	}
	return strings.TrimRight(strings.Join(padded, "  "), " ")
}

func (m NodeMetrics) cells() []string {
	batches := int64(0)
	if m.InferenceRequestBatchSize != nil {
		batches = m.InferenceRequestBatchSize.Count
	}
	return []string{
		m.Node,
		strconv.FormatInt(m.NumInferences, 10),
		strconv.FormatInt(m.FailedRows, 10),
		strconv.FormatInt(m.SkippedRows, 10),
		strconv.FormatInt(batches, 10),
		m.InferenceRequestBatchSize.spread(1, 1, 0),
		m.InferenceBatchLatencyMicroSecs.spread(1_000, 2, 2),
		m.LoadModelLatencyMilliSecs.mean(1, 0),
		m.ModelByteSize.mean(1<<20, 1),
		strings.Join(m.notes(), ", "),
	}
}

func (m NodeMetrics) notes() []string {
	var notes []string
	for _, arm := range slices.Sorted(maps.Keys(m.Arms)) {
		notes = append(notes, fmt.Sprintf("%s %d", arm, m.Arms[arm]))
	}
	if compared := m.Agreements + m.Disagreements; compared != 0 {
		notes = append(notes, fmt.Sprintf("agrees on %d of %d", m.Agreements, compared))
	}
	mean, ok := m.MeanDifference()
	if greatest, also := m.GreatestDifference(); ok && also {
		notes = append(notes, fmt.Sprintf("differs by %.6f (%.6f at most)", mean, greatest))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Usage)) {
		notes = append(notes, fmt.Sprintf("%s %d", name, m.Usage[name]))
	}
	return notes
}

// mean gives the mean in a larger unit; d may be nil.
func (d *Distribution) mean(unit float64, digits int) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, d.Mean/unit)
}

// spread gives the mean and both ends in a larger unit; d may be nil.
func (d *Distribution) spread(unit float64, digits, digitsOfEnds int) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%s (%.*f to %.*f)", d.mean(unit, digits),
		digitsOfEnds, float64(d.Min)/unit, digitsOfEnds, float64(d.Max)/unit)
}
