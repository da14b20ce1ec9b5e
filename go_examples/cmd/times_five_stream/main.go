// Command times_five_stream multiplies numbers by five as they arrive, and
// prints by how much the model multiplies, every two seconds.
//
//	go run ./cmd/times_five_stream --seconds=30
//
// A number's event time is when it was due; the numbers are put into windows
// after the model, by that time. Workers look every second for a newer model.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/periodic"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

const (
	interval     = 250 * time.Millisecond
	windowLength = 2 * time.Second
)

var (
	seconds       = flag.Int("seconds", 30, "How long numbers arrive.")
	ensembleFile  = flag.String("ensemble", "../examples/times_five/times_five.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Number is a row of the stream.
type Number struct {
	X float32 `beam:"x"`
}

// Product is what the ensemble makes of it.
type Product struct {
	X float32 `beam:"x"`
	Y float32 `beam:"y"`
}

func init() {
	register.DoFn2x1[beam.EventTime, []byte, Number](&numberFn{})
	register.Function1x1(factor)
	register.DoFn3x0[beam.Window, int, func(*float64) bool](&lineFn{})
	register.Iter1[float64]()
}

// numberFn gives the seconds since the start, from one on.
type numberFn struct{ Start int64 }

func (f *numberFn) ProcessElement(due beam.EventTime, _ []byte) Number {
	return Number{float32(due.Milliseconds()-f.Start)/1000 + 1}
}

func factor(product Product) float64 { return float64(product.Y / product.X) }

// lineFn prints a line for each window: its number, how many numbers are in
// it, and what they were multiplied by.
type lineFn struct{ Start int64 }

func (f *lineFn) ProcessElement(w beam.Window, _ int, factors func(*float64) bool) {
	var one, sum float64
	var count int
	for factors(&one) {
		sum += one
		count++
	}
	id := (w.MaxTimestamp().Milliseconds() - f.Start) / windowLength.Milliseconds()
	times := math.Round(1e4*sum/float64(count)) / 1e4
	fmt.Printf("{\"id\": %d, \"numbers\": %d, \"times\": %g}\n", id, count, times)
}

func run(ctx context.Context) error {
	pipeline, s := beam.NewPipelineWithRoot()
	start := time.Now().Add(windowLength).Truncate(windowLength)
	end := start.Add(time.Duration(*seconds) * time.Second)
	clock := periodic.Impulse(s, start, end, interval, false)
	numbers := beam.ParDo(s, &numberFn{start.UnixMilli()}, clock)
	products, err := ensemble.TryRun[Product](s, numbers, ensemble.FromFile(*ensembleFile),
		ensemble.WithExpansionAddr(*expansionAddr), ensemble.WithRefreshInterval(time.Second))
	if err != nil {
		return err
	}
	windowed := beam.WindowInto(s, window.NewFixedWindows(windowLength), products)
	gathered := beam.GroupByKey(s, beam.AddFixedKey(s, beam.ParDo(s, factor, windowed)))
	beam.ParDo0(s, &lineFn{start.UnixMilli()}, gathered)
	return beamx.Run(ctx, pipeline)
}

func main() {
	flag.Parse()
	beam.Init()
	ctx := context.Background()
	if err := run(ctx); err != nil {
		// Not by Beam's log, which belongs to the runner once the program's own workers run.
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
