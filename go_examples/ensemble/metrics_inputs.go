package ensemble

import "strconv"

// inputPrefix is what the name of an input starts with in a namespace; a
// node's name has no dot.
const inputPrefix = "inputs."

const stabilityIndex = "population_stability_index_millionths"

// InputMetrics are the metrics of one input that is compared with its profile,
// under the names that runners show.
type InputMetrics struct {
	// Column is the input's name.
	Column string `json:"column"`
	// ComparedRows are the rows that were compared.
	ComparedRows int64 `json:"compared_rows"`
	// NullRows are those of them in which it is null.
	NullRows int64 `json:"null_rows"`
	// OutOfRangeValues are the numbers in them below the smallest or above the
	// largest of the profile.
	OutOfRangeValues int64 `json:"out_of_range_values"`
	// UnseenValues are the texts in them that are none of the profile's
	// categories.
	UnseenValues int64 `json:"unseen_values"`
	// DriftedWindows are the windows of these rows in which it differs from its
	// profile.
	DriftedWindows int64 `json:"drifted_windows"`
	// PopulationStabilityIndexMillionths are the population stability indices of
	// each window, in millionths.
	PopulationStabilityIndexMillionths *Distribution `json:"population_stability_index_millionths"`
}

// OfInput gives the metrics of an input; one that was not compared has zeros.
func (m EnsembleMetrics) OfInput(column string) InputMetrics {
	for _, one := range m.Inputs {
		if one.Column == column {
			return one
		}
	}
	return InputMetrics{Column: column}
}

// inputCounters are the metrics of inputs that count, by name.
var inputCounters = map[string]func(*InputMetrics) *int64{
	"compared_rows":       func(m *InputMetrics) *int64 { return &m.ComparedRows },
	"null_rows":           func(m *InputMetrics) *int64 { return &m.NullRows },
	"out_of_range_values": func(m *InputMetrics) *int64 { return &m.OutOfRangeValues },
	"unseen_values":       func(m *InputMetrics) *int64 { return &m.UnseenValues },
	"drifted_windows":     func(m *InputMetrics) *int64 { return &m.DriftedWindows },
}

func (c collector) input(ensemble, column string) *InputMetrics {
	inputs := c.ensemble(ensemble).inputs
	if inputs[column] == nil {
		inputs[column] = &InputMetrics{Column: column}
	}
	return inputs[column]
}

// inputHeadings stand above the table of inputs.
var inputHeadings = []string{
	"input", "compared", "null", "out of range", "unseen", "windows", "drifted", "stability index",
}

func (m InputMetrics) cells() []string {
	windows := int64(0)
	if m.PopulationStabilityIndexMillionths != nil {
		windows = m.PopulationStabilityIndexMillionths.Count
	}
	return []string{
		m.Column,
		strconv.FormatInt(m.ComparedRows, 10),
		strconv.FormatInt(m.NullRows, 10),
		strconv.FormatInt(m.OutOfRangeValues, 10),
		strconv.FormatInt(m.UnseenValues, 10),
		strconv.FormatInt(windows, 10),
		strconv.FormatInt(m.DriftedWindows, 10),
		m.PopulationStabilityIndexMillionths.spread(1_000_000, 3, 3),
	}
}
