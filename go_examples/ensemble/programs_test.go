package ensemble_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// programVariable says which of two programs this process is.
const programVariable = "BEAM_ENSEMBLES_TEST_PROGRAM"

// TestIntegrationServesProgramsWithTypesOfOneName runs two programs against
// one service, the first one again after the second. Their row types have the
// same name, thus for Beam the same id, and different fields.
func TestIntegrationServesProgramsWithTypesOfOneName(t *testing.T) {
	needServers(t)
	for _, program := range []string{"first", "second", "first"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIntegrationProgram$", "-test.v")
		cmd.Env = append(os.Environ(), programVariable+"="+program)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the %s program: %v\n%s", program, err, output)
		}
	}
}

// TestIntegrationProgram is one of the two programs.
func TestIntegrationProgram(t *testing.T) {
	switch os.Getenv(programVariable) {
	case "first":
		firstProgram(t)
	case "second":
		secondProgram(t)
	default:
		t.Skipf("%s is not set: another test runs this one in a process of its own", programVariable)
	}
}

func firstProgram(t *testing.T) {
	type reading struct {
		Chances []float64 `beam:"chances"`
		Site    string    `beam:"site"`
	}
	type scored struct {
		Site  string `beam:"site"`
		Label string `beam:"label"`
	}
	runProgram[scored](t, reading{[]float64{1, 0, 0}, "north"}, scored{"north", "rock"})
}

func secondProgram(t *testing.T) {
	type reading struct {
		Depth   int64     `beam:"depth"`
		Chances []float64 `beam:"chances"`
	}
	type scored struct {
		Confidence float64 `beam:"confidence"`
		Depth      int64   `beam:"depth"`
		Label      string  `beam:"label"`
	}
	runProgram[scored](t, reading{12, []float64{0, 1, 0}}, scored{1, 12, "paper"})
}

func runProgram[Scored any](t *testing.T, row any, want Scored) {
	err := runPipeline(t, func(s beam.Scope) {
		collect(s, "program", ensemble.Run[Scored](s, beam.Create(s, row), ensemble.FromText(ballots, "")))
	})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, "program", []any{want})
}
