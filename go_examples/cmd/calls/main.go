// Command calls recommends what to do about recorded calls, by what was said
// and how: sound files in, JSON lines out.
//
//	go run ./cmd/calls --input=../build/examples/calls/rows.jsonl --output=recommended.jsonl
//
// A recording that cannot be heard is a line of recommended.jsonl.errors.
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
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Calls: JSON lines with id, recording, said, expected (required).")
	output        = flag.String("output", "", "File to write, JSON lines too; errors are beside it (required).")
	ensembleFile  = flag.String("ensemble", "../examples/calls/calls.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Call is a row of the input: a recording, and, to see how well all of this
// works, what was said and what should be done.
type Call struct {
	ID        int64  `beam:"id" json:"id"`
	Recording string `beam:"recording" json:"recording"`
	Audio     []byte `beam:"audio"`
	Said      string `beam:"said" json:"said"`
	Expected  string `beam:"expected" json:"expected"`
}

// Recommended is a row of the output. It does not name the audio, which
// therefore does not come back.
type Recommended struct {
	ID             int64   `beam:"id" json:"id"`
	Said           string  `beam:"said" json:"said"`
	Expected       string  `beam:"expected" json:"expected"`
	Transcript     string  `beam:"transcript" json:"transcript"`
	Intent         string  `beam:"intent" json:"intent"`
	IntentScore    float64 `beam:"intent_score" json:"intent_score"`
	Sentiment      string  `beam:"sentiment" json:"sentiment"`
	SentimentScore float64 `beam:"sentiment_score" json:"sentiment_score"`
	Recommendation string  `beam:"recommendation" json:"recommendation"`
}

// Unheard is a line of the errors.
type Unheard struct {
	ID   int64  `json:"id"`
	Node string `json:"node"`
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

func init() {
	register.Function2x2(readCall)
	register.Function1x2(writeRecommended)
	register.Function1x2(writeFailed)
}

func readCall(ctx context.Context, line string) (Call, error) {
	var call Call
	if err := json.Unmarshal([]byte(line), &call); err != nil {
		return call, err
	}
	files, err := filesystem.New(ctx, call.Recording)
	if err != nil {
		return call, err
	}
	defer files.Close()
	call.Audio, err = filesystem.Read(ctx, files, call.Recording)
	return call, err
}

func writeRecommended(recommended Recommended) (string, error) {
	line, err := json.Marshal(recommended)
	return string(line), err
}

func writeFailed(failed ensemble.Failed[Call]) (string, error) {
	line, err := json.Marshal(Unheard{failed.Element.ID, failed.Node, failed.Code, failed.Msg})
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	calls := beam.ParDo(s, readCall, textio.Read(s, *input))
	recommended, failed, err := ensemble.TryRunWithErrors[Recommended](
		s, calls, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeRecommended, recommended))
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
