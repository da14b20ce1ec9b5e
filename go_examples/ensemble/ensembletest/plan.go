package ensembletest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// plan is what `beam-ensembles plan --json` says of an ensemble.
type plan struct {
	Ensemble   string
	Inputs     map[string]string
	Outputs    map[string]string
	Parameters []string

	inputs, outputs map[string]columnType
}

func readPlan(path string) (*plan, error) {
	const hint = "make it with `beam-ensembles plan --json FILE > %s`"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the plan cannot be read: %w; "+hint, err, path)
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil || p.Ensemble == "" || p.Inputs == nil {
		return nil, fmt.Errorf("the file %s is not the plan of an ensemble; "+hint, path, path)
	}
	if p.inputs, err = parseTypes(p.Inputs); err == nil {
		p.outputs, err = parseTypes(p.Outputs)
	}
	if err != nil {
		return nil, fmt.Errorf("the plan %s: %w", path, err)
	}
	return &p, nil
}

func parseTypes(texts map[string]string) (types map[string]columnType, err error) {
	types = map[string]columnType{}
	for name, text := range texts {
		if types[name], err = parseType(text); err != nil {
			return nil, fmt.Errorf("column '%s': %w", name, err)
		}
	}
	return types, nil
}

func (p *plan) outputNames() []string { return slices.Sorted(maps.Keys(p.Outputs)) }

// listed joins names for a message.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
