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
)

var (
	workloadName  = flag.String("workload", "light", "What is scored: light (4 numbers a row) or digits (64).")
	mode          = flag.String("mode", "ensemble", "How: ensemble, or handwired, with Beam's RunInference a model.")
	rows          = flag.Int64("rows", 100_000, "How many rows to score; the values are taken in turn.")
	values        = flag.String("values", "", "File of the rows' values: little-endian doubles, row by row.")
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
	score, ok := ways[*mode]
	if !ok {
		return fmt.Errorf("there is no mode %q", *mode)
	}
	scored, err := score(s, beam.Create(s, *rows))
	if err != nil {
		return err
	}
	beam.ParDo0(s, &sink{}, beam.ParDo(s, workload.answer, scored))
	return nil
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
