// Command ab_test names handwritten digits by a champion or, for a tenth of
// the users, by its challenger: JSON lines in, JSON lines out.
//
//	go run ./cmd/ab_test --input=../build/examples/ab_test/rows.jsonl --output=scored.jsonl
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
	input         = flag.String("input", "", "Images: JSON lines with id, user, pixels, truth (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/ab_test/ab_test.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Image is a row of the input: an image, who sent it, and which digit it
// really is.
type Image struct {
	ID     int64     `beam:"id" json:"id"`
	User   string    `beam:"user" json:"user"`
	Pixels []float64 `beam:"pixels" json:"pixels"`
	Truth  int64     `beam:"truth" json:"truth"`
}

// Scored is a row of the output: which arm the row took, and the digit that
// its model names. The arms' columns may be null, so Digit is a pointer.
type Scored struct {
	ID    int64  `beam:"id" json:"id"`
	Truth int64  `beam:"truth" json:"truth"`
	Arm   string `beam:"arm" json:"arm"`
	Digit *int64 `beam:"digit" json:"digit"`
}

func init() {
	register.Function1x2(readImage)
	register.Function1x2(writeScored)
}

func readImage(line string) (Image, error) {
	var image Image
	err := json.Unmarshal([]byte(line), &image)
	return image, err
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
	rows := beam.ParDo(s, readImage, textio.Read(s, *input))
	scored, err := ensemble.TryRun[Scored](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
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
