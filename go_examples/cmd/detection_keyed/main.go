// Command detection_keyed finds things in pictures that have keys: pairs of a
// file's name and a row go in, and come out as such pairs.
//
//	go run ./cmd/detection_keyed --input='../build/examples/detection/images/*' --output=labels.jsonl
//
// Whoever joins or groups by keys next starts so. Its other flags are those of
// every Beam pipeline in Go, such as
// --runner=universal --endpoint=localhost:8073 --environment_type=LOOPBACK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Pattern of the picture files (required).")
	output        = flag.String("output", "", "File to write, JSON lines; FILE.errors beside it (required).")
	ensembleFile  = flag.String("ensemble", "../examples/detection/detection.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Picture is the row of a pair: a picture file, as it was read.
type Picture struct {
	Data []byte `beam:"data"`
}

// Thing is something in a picture.
type Thing struct {
	Label string    `beam:"label"`
	Box   []float32 `beam:"box"`
	Score float32   `beam:"score"`
}

// Found is the row of a pair that was scored.
type Found struct {
	Found []Thing `beam:"found"`
}

// Labels is a line of the output.
type Labels struct {
	File   string   `json:"file"`
	Labels []string `json:"labels"`
}

// Failure is a line of the errors.
type Failure struct {
	File string `json:"file"`
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

func init() {
	register.Function2x3(readPicture)
	register.Function2x2(writeLabels)
	register.Function2x2(writeFailure)
}

// readPicture reads one of the files; its name is the key.
func readPicture(ctx context.Context, file fileio.ReadableFile) (string, Picture, error) {
	data, err := file.Read(ctx)
	return path.Base(file.Metadata.Path), Picture{data}, err
}

func writeLabels(file string, found Found) (string, error) {
	labels := make([]string, len(found.Found))
	for at, thing := range found.Found {
		labels[at] = thing.Label
	}
	line, err := json.Marshal(Labels{file, labels})
	return string(line), err
}

func writeFailure(file string, failed ensemble.Failed[Picture]) (string, error) {
	line, err := json.Marshal(Failure{file, failed.Code, failed.Msg})
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	pictures := beam.ParDo(s, readPicture, fileio.ReadMatches(s, fileio.MatchFiles(s, *input)))
	found, failed, err := ensemble.TryRunWithErrors[Found](
		s, pictures, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeLabels, found))
	textio.Write(s, *output+".errors", beam.ParDo(s, writeFailure, failed))
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
