// Command own_handler reads the digits of cheques, joins them with what a
// clerk typed, and says what becomes of each: two ensembles with the
// pipeline's own join between them.
//
//	go run ./cmd/own_handler --input=../build/examples/own_handler/rows.jsonl \
//		--typed=../build/examples/own_handler/typed.jsonl --output=decisions.jsonl
//
// Its other flags are those of every Beam pipeline in Go, such as
// --runner=universal --endpoint=localhost:8073 --environment_type=LOOPBACK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Images: JSON lines with id, pixels (required).")
	typed         = flag.String("typed", "", "What a clerk typed: JSON lines with id, typed (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/own_handler/neighbours.yaml", "First ensemble file.")
	reviewFile    = flag.String("review", "../examples/own_handler/review.yaml", "Second ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Image is a row of the first input.
type Image struct {
	ID     int64     `beam:"id" json:"id"`
	Pixels []float64 `beam:"pixels" json:"pixels"`
}

// Typed is a row of the second input.
type Typed struct {
	ID    int64 `json:"id"`
	Typed int64 `json:"typed"`
}

// Read is what the first ensemble reads, and how many neighbours say so.
type Read struct {
	ID    int64 `beam:"id"`
	Digit int64 `beam:"digit"`
	Votes int32 `beam:"votes"`
}

// Cheque is what the second ensemble reads.
type Cheque struct {
	ID    int64 `beam:"id"`
	Digit int64 `beam:"digit"`
	Votes int32 `beam:"votes"`
	Typed int64 `beam:"typed"`
}

// Decision is a row of the output.
type Decision struct {
	ID       int64  `beam:"id" json:"id"`
	Digit    int64  `beam:"digit" json:"digit"`
	Typed    int64  `beam:"typed" json:"typed"`
	Decision string `beam:"decision" json:"decision"`
}

func init() {
	register.Function1x2(readImage)
	register.Function1x3(readTyped)
	register.Function1x2(keyed)
	register.Function4x0(join)
	register.Function1x2(writeDecision)
	register.Iter1[Read]()
	register.Iter1[int64]()
	register.Emitter1[Cheque]()
}

func readImage(line string) (Image, error) {
	var image Image
	err := json.Unmarshal([]byte(line), &image)
	return image, err
}

func readTyped(line string) (int64, int64, error) {
	var row Typed
	err := json.Unmarshal([]byte(line), &row)
	return row.ID, row.Typed, err
}

func keyed(read Read) (int64, Read) { return read.ID, read }

// join puts what was read and what was typed side by side.
func join(_ int64, reads func(*Read) bool, digits func(*int64) bool, emit func(Cheque)) {
	var read Read
	var digit int64
	if reads(&read) && digits(&digit) {
		emit(Cheque{read.ID, read.Digit, read.Votes, digit})
	}
}

func writeDecision(decision Decision) (string, error) {
	line, err := json.Marshal(decision)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *typed == "" || *output == "" {
		return errors.New("give --input, --typed and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	images := beam.ParDo(s, readImage, textio.Read(s, *input))
	reads, err := ensemble.TryRun[Read](
		s, images, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	digits := beam.ParDo(s, readTyped, textio.Read(s, *typed))
	cheques := beam.ParDo(s, join, beam.CoGroupByKey(s, beam.ParDo(s, keyed, reads), digits))
	decisions, err := ensemble.TryRun[Decision](
		s, cheques, ensemble.FromFile(*reviewFile), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeDecision, decisions))
	return beamx.Run(ctx, pipeline)
}

func main() {
	flag.Parse()
	beam.Init()
	ctx := context.Background()
	if err := run(ctx); err != nil {
		log.Exit(ctx, err)
	}
}
