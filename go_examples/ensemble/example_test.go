package ensemble_test

import (
	"context"
	"fmt"
	"log"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// Game is a row: its fields are the columns that the ensemble may read.
type Game struct {
	ID      int64     `beam:"id"`
	Chances []float64 `beam:"chances"`
}

// Verdict is a scored row: a field of the row, and columns that the ensemble
// adds.
type Verdict struct {
	ID         int64   `beam:"id"`
	Label      string  `beam:"label"`
	Confidence float64 `beam:"confidence"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[Game]())
	beam.RegisterType(reflect.TypeFor[Verdict]())
	beam.RegisterType(reflect.TypeFor[ensemble.Failed[Game]]())
	register.Function1x0(printVerdict)
	register.Function1x0(printFailed)
}

func printVerdict(v Verdict) { fmt.Printf("%d: %s (%.1f)\n", v.ID, v.Label, v.Confidence) }

func printFailed(f ensemble.Failed[Game]) { fmt.Printf("%d: %s\n", f.Element.ID, f.Code) }

// Example is a whole program. A main function calls beam.Init first, and the
// runner is chosen by a flag: Beam's local runner without one.
func Example() {
	pipeline, s := beam.NewPipelineWithRoot()
	games := beam.CreateList(s, []Game{
		{ID: 1, Chances: []float64{0.1, 0.7, 0.2}},
		{ID: 2, Chances: []float64{0.1, 0.1, 0.8}},
		{ID: 3, Chances: []float64{1}}, // of the wrong length
	})
	scored, failed, err := ensemble.TryRunWithErrors[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	if err != nil {
		log.Fatal(err)
	}
	beam.ParDo0(s, printVerdict, scored)
	beam.ParDo0(s, printFailed, failed)
	if err := beamx.Run(context.Background(), pipeline); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// 1: paper (0.7)
	// 2: scissors (0.8)
	// 3: wrong_length
}
