// Command captions_retrieval finds, among the texts of each row, the three that
// fit its image best: JSON lines in, JSON lines out. Rows whose image cannot be
// read go to a file beside the output, with the reason.
//
//	go run ./cmd/captions_retrieval --input=../build/examples/captions/retrieval.jsonl \
//		--output=ranked.jsonl --pictures=$PWD/../build/examples/captions
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
	input         = flag.String("input", "", "JSON lines with id, url, texts, truth (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	pictures      = flag.String("pictures", ".", "What the URLs lie below; relative to the ensemble file.")
	ensembleFile  = flag.String("ensemble", "../examples/captions/retrieval.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Choice is a row of the input.
type Choice struct {
	ID    int64    `beam:"id" json:"id"`
	URL   string   `beam:"url" json:"url"`
	Texts []string `beam:"texts" json:"texts"`
	Truth string   `beam:"truth" json:"truth"`
}

// Text is one of the texts, and how well it fits: the probabilities of an
// image's texts add up to one.
type Text struct {
	Text        string  `beam:"text" json:"text"`
	Probability float64 `beam:"probability" json:"probability"`
}

// Ranked is a row of the output.
type Ranked struct {
	ID    int64    `beam:"id" json:"id"`
	URL   string   `beam:"url" json:"url"`
	Texts []string `beam:"texts" json:"texts"`
	Truth string   `beam:"truth" json:"truth"`
	Top   []Text   `beam:"top" json:"top"`
}

// Failure is a row of the errors: whose image it is, and what is wrong with it.
type Failure struct {
	ID   int64  `json:"id"`
	URL  string `json:"url"`
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

func init() {
	register.Function1x2(readChoice)
	register.Function1x2(writeRanked)
	register.Function1x2(writeFailed)
}

func readChoice(line string) (Choice, error) {
	var row Choice
	err := json.Unmarshal([]byte(line), &row)
	return row, err
}

func writeRanked(row Ranked) (string, error) {
	line, err := json.Marshal(row)
	return string(line), err
}

func writeFailed(row ensemble.Failed[Choice]) (string, error) {
	line, err := json.Marshal(Failure{row.Element.ID, row.Element.URL, row.Code, row.Msg})
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	rows := beam.ParDo(s, readChoice, textio.Read(s, *input))
	scored, failed, err := ensemble.TryRunWithErrors[Ranked](
		s, rows, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(map[string]string{"pictures": *pictures}),
		ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeRanked, scored))
	textio.Write(s, *output+".errors", beam.ParDo(s, writeFailed, failed))
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
