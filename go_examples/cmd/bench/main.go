// Command bench scores rows of one of the benchmarks' workloads in a pipeline
// on Prism, with the ensemble or wired by hand, and prints one JSON object:
// how many rows, how many seconds, and the mean answer, by which ways to score
// are compared.
//
//	go run ./cmd/bench --workload=light --mode=ensemble --rows=100000 --values=light.f64 --ensemble=light.yaml \
//		--expansion_addr=localhost:8097 --endpoint=localhost:8073
//
// The seconds are those of the whole run. Starting it takes some of them, so a
// rate is told from runs of two lengths.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	_ "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/runneropts"
)

var (
	workloadName  = flag.String("workload", "light", "What is scored: light (4 numbers per row), digits (64), text or image.")
	mode          = flag.String("mode", "ensemble", "How: ensemble, or handwired, with Beam's RunInference a model.")
	rows          = flag.Int64("rows", 100_000, "How many rows to score; the values are taken in turn.")
	parts         = flag.Int64("parts", 1, "In how many parts the rows are made; more than one are spread over the workers.")
	bundleRows    = flag.Int64("bundle_rows", 0, "How many rows of a part make a bundle; 0: all. For runners that have splittable steps.")
	values        = flag.String("values", "", "File of the rows' values: doubles, row by row; of text and image an Arrow file.")
	ensembleFile  = flag.String("ensemble", "", "Ensemble file, for the ensemble.")
	models        = flag.String("models", "", "Folder of the models, for what is wired by hand.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service: ours, or Beam's for Python.")
)

// run is what one run tells.
type run struct {
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"`
	Answer  float64 `json:"answer"`
}

// build makes the pipeline: rows, answers, sink.
func build(s beam.Scope) error {
	workload, ok := workloads[*workloadName]
	if !ok {
		return fmt.Errorf("there is no workload %q", *workloadName)
	}
	ways := map[string]func(beam.Scope, beam.PCollection) (beam.PCollection, error){
		"ensemble": workload.ensemble, "handwired": workload.handWired,
	}
	score := ways[*mode]
	if score == nil {
		return fmt.Errorf("there is no mode %q of %s", *mode, *workloadName)
	}
	scored, err := score(s, source(s))
	if err != nil {
		return err
	}
	totals := beam.ParDo(s, workload.sink, scored)
	beam.ParDo0(s, collect, beam.GroupByKey(s, beam.AddFixedKey(s, totals)))
	return nil
}

// source gives the parts in which the rows are made.
func source(s beam.Scope) beam.PCollection {
	var made []any
	for i := range *parts {
		made = append(made, part{*rows * i / *parts, *rows * (i + 1) / *parts})
	}
	all := beam.Create(s, made...)
	if len(made) > 1 {
		all = beam.Reshuffle(s, all)
	}
	if *bundleRows > 0 {
		all = beam.ParDo(s, &bundles{Rows: *bundleRows}, all)
	}
	return all
}

func measure(ctx context.Context) (run, error) {
	pipeline, s := beam.NewPipelineWithRoot()
	if err := build(s); err != nil {
		return run{}, err
	}
	start := time.Now()
	if _, err := universal.Execute(ctx, pipeline); err != nil {
		return run{}, err
	}
	seconds := time.Since(start).Seconds()
	count, mean := collected()
	if count != *rows {
		return run{}, fmt.Errorf("%d rows went in, %d came out", *rows, count)
	}
	return run{count, seconds, mean}, nil
}

func main() {
	if err := flag.Set("environment_type", "LOOPBACK"); err != nil {
		panic(err)
	}
	flag.Parse()
	beam.Init()
	ctx := context.Background()
	measured, err := measure(ctx)
	if err != nil {
		log.Exit(ctx, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(measured); err != nil {
		log.Exit(ctx, err)
	}
}
