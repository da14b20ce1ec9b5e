// Command text_labels says of texts what they are about and their mood: the
// ensemble of the command text with nodes switched off. JSON lines in, JSON
// lines out.
//
//	go run ./cmd/text_labels --input=../build/examples/text/rows.jsonl --output=labelled.jsonl
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
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Texts: JSON lines with id, text (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/text/text.yaml", "Ensemble file.")
	off           = flag.String("off", "summary,translation,keywords", "Nodes to switch off; Labelled has the others' fields.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Text is a row of the input.
type Text struct {
	ID   int64  `beam:"id" json:"id"`
	Text string `beam:"text" json:"text"`
}

// Labelled is a row of the output: a node that is switched off adds no
// columns, so that Labelled has no fields for them.
type Labelled struct {
	ID             int64   `beam:"id" json:"id"`
	Text           string  `beam:"text" json:"text"`
	Category       string  `beam:"category" json:"category"`
	CategoryScore  float64 `beam:"category_score" json:"category_score"`
	Sentiment      string  `beam:"sentiment" json:"sentiment"`
	SentimentScore float64 `beam:"sentiment_score" json:"sentiment_score"`
}

func init() {
	register.Function1x2(readText)
	register.Function1x2(writeLabelled)
}

func readText(line string) (Text, error) {
	var text Text
	err := json.Unmarshal([]byte(line), &text)
	return text, err
}

// switches gives the ensemble's parameters: all nodes are on but those that
// are named.
func switches(off string) map[string]string {
	on := map[string]string{
		"category": "true", "sentiment": "true", "summary": "true", "translation": "true", "keywords": "true",
	}
	for _, name := range strings.FieldsFunc(off, func(c rune) bool { return c == ',' }) {
		on[name] = "false"
	}
	return on
}

func writeLabelled(labelled Labelled) (string, error) {
	line, err := json.Marshal(labelled)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	texts := beam.ParDo(s, readText, textio.Read(s, *input))
	labelled, err := ensemble.TryRun[Labelled](s, texts, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(switches(*off)), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeLabelled, labelled))
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
