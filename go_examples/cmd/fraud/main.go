// Command fraud says of payments whether to accept them, to block them, or to
// have somebody look: JSON lines in, JSON lines out.
//
//	go run ./cmd/fraud --input=../build/examples/fraud/rows.jsonl --output=scored.jsonl
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
	input         = flag.String("input", "", "Payments, JSON lines (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/fraud/fraud.yaml", "Ensemble file.")
	database      = flag.String("database", "sqlite:///models/accounts.db", "URL of the accounts; a file is one beside the ensemble.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Payment is a row of the input; Fraud is what it turned out to be, which no
// model reads.
type Payment struct {
	ID       int64   `beam:"id" json:"id"`
	Account  string  `beam:"account" json:"account"`
	Category string  `beam:"category" json:"category"`
	Amount   float64 `beam:"amount" json:"amount"`
	Hour     int64   `beam:"hour" json:"hour"`
	Online   bool    `beam:"online" json:"online"`
	Country  string  `beam:"country" json:"country"`
	Fraud    int64   `beam:"fraud" json:"fraud"`
}

// Scored is a row of the output. ForestP is null where the forest did not
// run, so it is a pointer.
type Scored struct {
	ID       int64    `beam:"id" json:"id"`
	Fraud    int64    `beam:"fraud" json:"fraud"`
	Decision string   `beam:"decision" json:"decision"`
	FraudP   float64  `beam:"fraud_p" json:"fraud_p"`
	CheapP   float64  `beam:"cheap_p" json:"cheap_p"`
	ForestP  *float64 `beam:"forest_p" json:"forest_p"`
	Unsure   bool     `beam:"unsure" json:"unsure"`
	Arm      string   `beam:"arm" json:"arm"`
}

func init() {
	register.Function1x2(readPayment)
	register.Function1x2(writeScored)
}

func readPayment(line string) (Payment, error) {
	var payment Payment
	err := json.Unmarshal([]byte(line), &payment)
	return payment, err
}

func writeScored(scored Scored) (string, error) {
	line, err := json.Marshal(scored)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	payments := beam.ParDo(s, readPayment, textio.Read(s, *input))
	scored, err := ensemble.TryRun[Scored](
		s, payments, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(map[string]string{"database": *database}),
		ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeScored, scored))
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
