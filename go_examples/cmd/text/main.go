// Command text says of texts what they are about, their mood, summary, French
// translation and keywords: JSON lines in, JSON lines out.
//
//	go run ./cmd/text --input=../build/examples/text/rows.jsonl --output=enriched.jsonl
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
	input         = flag.String("input", "", "Texts: JSON lines with id, text (required).")
	output        = flag.String("output", "", "File to write, JSON lines too (required).")
	ensembleFile  = flag.String("ensemble", "../examples/text/text.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Text is a row of the input.
type Text struct {
	ID   int64  `beam:"id" json:"id"`
	Text string `beam:"text" json:"text"`
}

// Enriched is a row of the output. A node that is switched off adds no
// columns, so that its fields go, too: see the command text_labels.
type Enriched struct {
	ID             int64    `beam:"id" json:"id"`
	Text           string   `beam:"text" json:"text"`
	Category       string   `beam:"category" json:"category"`
	CategoryScore  float64  `beam:"category_score" json:"category_score"`
	Sentiment      string   `beam:"sentiment" json:"sentiment"`
	SentimentScore float64  `beam:"sentiment_score" json:"sentiment_score"`
	Summary        string   `beam:"summary" json:"summary"`
	French         string   `beam:"french" json:"french"`
	Keywords       []string `beam:"keywords" json:"keywords"`
}

// switches says which nodes are on.
var switches = map[string]string{
	"category": "true", "sentiment": "true", "summary": "true", "translation": "true", "keywords": "true",
}

func init() {
	register.Function1x2(readText)
	register.Function1x2(writeEnriched)
}

func readText(line string) (Text, error) {
	var text Text
	err := json.Unmarshal([]byte(line), &text)
	return text, err
}

func writeEnriched(enriched Enriched) (string, error) {
	line, err := json.Marshal(enriched)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	texts := beam.ParDo(s, readText, textio.Read(s, *input))
	enriched, err := ensemble.TryRun[Enriched](s, texts, ensemble.FromFile(*ensembleFile),
		ensemble.WithParameters(switches), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeEnriched, enriched))
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
