// Command captions_questions answers a question about each image: JSON lines
// in, JSON lines out. Rows whose image cannot be read go to a file beside the
// output, with the reason.
//
//	go run ./cmd/captions_questions --input=../build/examples/captions/questions.jsonl \
//		--output=answered.jsonl --pictures=$PWD/../build/examples/captions
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
	input         = flag.String("input", "", "JSON lines with id, url, question, truth (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	pictures      = flag.String("pictures", ".", "What the URLs lie below; relative to the ensemble file.")
	ensembleFile  = flag.String("ensemble", "../examples/captions/questions.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Question is a row of the input.
type Question struct {
	ID       int64  `beam:"id" json:"id"`
	URL      string `beam:"url" json:"url"`
	Question string `beam:"question" json:"question"`
	Truth    string `beam:"truth" json:"truth"`
}

// Answered is a row of the output.
type Answered struct {
	ID       int64  `beam:"id" json:"id"`
	URL      string `beam:"url" json:"url"`
	Question string `beam:"question" json:"question"`
	Truth    string `beam:"truth" json:"truth"`
	Answer   string `beam:"answer" json:"answer"`
}

// Failure is a row of the errors: whose image it is, and what is wrong with it.
type Failure struct {
	ID   int64  `json:"id"`
	URL  string `json:"url"`
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

func init() {
	register.Function1x2(readQuestion)
	register.Function1x2(writeAnswered)
	register.Function1x2(writeFailed)
}

func readQuestion(line string) (Question, error) {
	var row Question
	err := json.Unmarshal([]byte(line), &row)
	return row, err
}

func writeAnswered(row Answered) (string, error) {
	line, err := json.Marshal(row)
	return string(line), err
}

func writeFailed(row ensemble.Failed[Question]) (string, error) {
	line, err := json.Marshal(Failure{row.Element.ID, row.Element.URL, row.Code, row.Msg})
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	rows := beam.ParDo(s, readQuestion, textio.Read(s, *input))
	scored, failed, err := ensemble.TryRunWithErrors[Answered](
		s, rows, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(map[string]string{"pictures": *pictures}),
		ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeAnswered, scored))
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
