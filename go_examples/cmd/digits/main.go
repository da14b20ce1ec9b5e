// Command digits scores images of handwritten digits: it reads JSON lines,
// adds what the digits ensemble says of each image, and writes JSON lines.
//
//	go run ./cmd/digits --input=heldout.jsonl --output=scored.jsonl --ensemble=../examples/digits/digits.yaml
//
// Its other flags are those of every Beam pipeline in Go, such as
// --runner=universal --endpoint=localhost:8073 --environment_type=LOOPBACK.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	_ "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/runneropts"
)

var (
	input         = flag.String("input", "", "Images: JSON lines with id and pixels (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/digits/digits.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Image is a row of the input: its fields are the columns that the ensemble
// reads, and what passes through.
type Image struct {
	ID     int64     `beam:"id" json:"id"`
	Pixels []float64 `beam:"pixels" json:"pixels"`
}

// Scored is a row of the output: a field of the image, and what the ensemble
// added.
type Scored struct {
	ID           int64   `beam:"id" json:"id"`
	Label        string  `beam:"label" json:"label"`
	Confidence   float64 `beam:"confidence" json:"confidence"`
	ForestLabel  string  `beam:"forest_label" json:"forest_label"`
	BoostLabel   string  `beam:"boost_label" json:"boost_label"`
	NetworkLabel string  `beam:"network_label" json:"network_label"`
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

// buildPipeline puts the steps together: read, score, write.
func buildPipeline(s beam.Scope, images, scored, file, addr string) error {
	lines := textio.Read(s, images)
	rows := beam.ParDo(s, readImage, lines)
	answers, err := ensemble.TryRun[Scored](s, rows, ensemble.FromFile(file), ensemble.WithExpansionAddr(addr))
	if err != nil {
		return err
	}
	textio.Write(s, scored, beam.ParDo(s, writeScored, answers))
	return nil
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return fmt.Errorf("give --input and --output")
	}
	pipeline, scope := beam.NewPipelineWithRoot()
	if err := buildPipeline(scope, *input, *output, *ensembleFile, *expansionAddr); err != nil {
		return err
	}
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
