// Command triage sorts support tickets; a language model reads those about
// which a small classifier is unsure: JSON lines in, JSON lines out.
//
//	go run ./cmd/triage --server=http://127.0.0.1:8000/v1 \
//	    --input=../build/examples/triage/rows.jsonl --output=sorted.jsonl
//
// Its other flags are those of every Beam pipeline in Go, such as
// --runner=universal --endpoint=localhost:8073 --environment_type=LOOPBACK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Tickets: JSON lines with id, ticket (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/triage/triage.yaml", "Ensemble file.")
	server        = flag.String("server", "", "The language model's server, http://HOST:PORT/v1 (required).")
	model         = flag.String("model", "reader", "The model's name there.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Ticket is a row of the input.
type Ticket struct {
	ID     int64  `beam:"id" json:"id"`
	Ticket string `beam:"ticket" json:"ticket"`
}

// Sorted is a row of the output. What the language model has not read has nil
// where it would have answered.
type Sorted struct {
	ID         int64   `beam:"id" json:"id"`
	Ticket     string  `beam:"ticket" json:"ticket"`
	Category   string  `beam:"category" json:"category"`
	Language   string  `beam:"language" json:"language"`
	Urgency    *int64  `beam:"urgency" json:"urgency"`
	Product    *string `beam:"product" json:"product"`
	Summary    *string `beam:"summary" json:"summary"`
	Guess      string  `beam:"guess" json:"guess"`
	Confidence float64 `beam:"confidence" json:"confidence"`
	Read       *string `beam:"read" json:"read"`
	Second     *string `beam:"second" json:"second"`
}

func init() {
	register.Function1x2(readTicket)
	register.Function1x2(writeSorted)
}

func readTicket(line string) (Ticket, error) {
	var ticket Ticket
	err := json.Unmarshal([]byte(line), &ticket)
	return ticket, err
}

func writeSorted(sorted Sorted) (string, error) {
	line, err := json.Marshal(sorted)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" || *server == "" {
		return errors.New("give --input, --output and --server")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	tickets := beam.ParDo(s, readTicket, textio.Read(s, *input))
	sorted, err := ensemble.TryRun[Sorted](s, tickets, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(map[string]string{"server": *server, "model": *model}),
		ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeSorted, sorted))
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
