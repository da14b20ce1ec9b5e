package ensemble_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// invalidSpecs are ensemble files with mistakes, which the tests of all
// languages read.
const invalidSpecs = "../../tests/golden/specs_invalid"

// numbers is the row that every one of them is called with.
type numbers struct {
	X []float64 `beam:"x"`
}

func TestIntegrationGivesTheProblemsOfInvalidFiles(t *testing.T) {
	needServers(t)
	files, err := filepath.Glob(filepath.Join(invalidSpecs, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", invalidSpecs, err)
	}
	folder, err := filepath.Abs(invalidSpecs)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, s := beam.NewPipelineWithRoot()
			_, err = ensemble.TryRun[numbers](s, beam.Create(s, numbers{}), ensemble.FromText(string(text), folder))
			var invalid *ensemble.Error
			if !errors.As(err, &invalid) {
				t.Fatalf("gives %v, not an *Error", err)
			}
			if got, want := places(invalid.Problems), expected(t, file); !slices.Equal(got, want) {
				t.Errorf("gives the problems\n%q, not\n%q", got, want)
			}
			if strings.Contains(err.Error(), "Traceback") {
				t.Errorf("shows a traceback: %v", err)
			}
		})
	}
}

// expected are the problems that a golden file is to give.
func expected(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Input    map[string]string
		Problems []ensemble.Problem
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if golden.Input != nil && !maps.Equal(golden.Input, map[string]string{"x": "array<double>"}) {
		t.Fatalf("the test has no rows %v: add them", golden.Input)
	}
	return places(golden.Problems)
}

// places are the codes and paths of problems, each once, in order.
func places(problems []ensemble.Problem) []string {
	all := make([]string, len(problems))
	for i, problem := range problems {
		all[i] = problem.Code + " " + problem.Path
	}
	slices.Sort(all)
	return slices.Compact(all)
}
