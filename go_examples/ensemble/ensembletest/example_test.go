package ensembletest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/ensembletest"
)

// t is that of a test, as a test function takes it.
var t = &exampleT{}

// exampleT says why a test fails, and ends the example.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (*exampleT) Helper()                  {}
func (e *exampleT) Cleanup(cleanup func()) { e.cleanups = append(e.cleanups, cleanup) }
func (*exampleT) Fatalf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	panic("a test has failed")
}

// run runs a pipeline as ptest.RunAndValidate does.
func run(pipeline *beam.Pipeline) {
	if err := ptest.Run(pipeline); err != nil {
		fmt.Println(err)
	}
}

func printID(v verdict) { fmt.Println(v.ID, v.Label) }

func init() { register.Function1x0(printID) }

// A function answers each row. Its types are the columns that the ensemble reads
// and those that it adds.
func ExampleFunc() {
	// type chances struct { Chances []float64 `beam:"chances"` }
	// type vote struct { Label string `beam:"label"`; Confidence float64 `beam:"confidence"` }
	fake := ensembletest.Fake(t, ensembletest.Func(func(c chances) (vote, error) {
		if len(c.Chances) != 3 {
			return vote{}, &ensembletest.Failure{Node: "vote", Code: ensemble.CodeWrongLength, Msg: "three chances"}
		}
		return vote{Label: "paper", Confidence: 0.7}, nil
	}))
	pipeline, s, rows := ptest.CreateList(games[:3])
	scored, failed := ensemble.RunWithErrors[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()))
	beam.ParDo0(s, printID, scored)
	passert.Equals(s, beam.ParDo(s, why, failed), "3 votes vote wrong_length: three chances")
	run(pipeline)
	// Unordered output:
	// 1 paper
	// 2 paper
}

// A row is answered by the one that has the same fields.
func ExampleRows() {
	fake := ensembletest.Fake(t, ensembletest.Rows(struct {
		ID         int64   `beam:"id"`
		Label      string  `beam:"label"`
		Confidence float64 `beam:"confidence"`
	}{1, "rock", 1}))
	pipeline, s, rows := ptest.CreateList(games[:1])
	beam.ParDo0(s, printID, ensemble.Run[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr())))
	run(pipeline)
	// Output: 1 rock
}

// The call is checked as the service checks it, before the pipeline runs.
func ExampleFake() {
	fake := ensembletest.Fake(t, ensembletest.Func(votes).WithPlan("testdata/votes.plan.json"))
	_, s := beam.NewPipelineWithRoot()
	type player struct {
		Name string `beam:"name"`
	}
	_, err := ensemble.TryRun[vote](s, beam.Create(s, player{"Ann"}), file,
		ensemble.WithExpansionAddr(fake.Addr()), ensemble.WithEncoding(ensemble.EncodingRows))
	fmt.Println(err)
	// Output:
	// the rows do not fit ensemble 'votes': 1 problem
	//   [missing_field] input.chances: the ensemble reads 'chances', which the incoming rows lack (fields: name)
}

func ExampleService() {
	if os.Getenv("BEAM_ENSEMBLES_PYTHON") == "" {
		fmt.Println("1 paper") // There is no Python with beam-ensembles.
		return
	}
	service := ensembletest.Service(t, ensemble.ServiceOptions{Trust: []string{"testdata"}})
	pipeline, s, rows := ptest.CreateList(games[:1])
	beam.ParDo0(s, printID, ensemble.Run[verdict](s, rows, file, ensemble.WithService(service)))
	run(pipeline)
	// Output: 1 paper
}
