// Command times_five multiplies numbers by five: CSV in, JSON lines out.
//
//	go run ./cmd/times_five --input=../build/examples/times_five/rows.csv --output=products.jsonl
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

const header = "id,x"

var (
	input         = flag.String("input", "", "CSV with the columns id and x, and a line of their names (required).")
	output        = flag.String("output", "", "File to write, JSON lines (required).")
	ensembleFile  = flag.String("ensemble", "../examples/times_five/times_five.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Number is a row of the input.
type Number struct {
	ID int64   `beam:"id"`
	X  float32 `beam:"x"`
}

// Product is a row of the output.
type Product struct {
	ID int64   `beam:"id" json:"id"`
	X  float32 `beam:"x" json:"x"`
	Y  float32 `beam:"y" json:"y"`
}

func init() {
	register.Function2x1(readNumber)
	register.Function1x2(writeProduct)
	register.Emitter1[Number]()
}

// readNumber reads one line of the input, but for the first.
func readNumber(line string, emit func(Number)) error {
	if line == header {
		return nil
	}
	var number Number
	if _, err := fmt.Fscanf(strings.NewReader(line), "%d,%g", &number.ID, &number.X); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	emit(number)
	return nil
}

func writeProduct(product Product) (string, error) {
	line, err := json.Marshal(product)
	return string(line), err
}

func run(ctx context.Context) error {
	if *input == "" || *output == "" {
		return errors.New("give --input and --output")
	}
	pipeline, s := beam.NewPipelineWithRoot()
	rows := beam.ParDo(s, readNumber, textio.Read(s, *input))
	products, err := ensemble.TryRun[Product](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
	if err != nil {
		return err
	}
	textio.Write(s, *output, beam.ParDo(s, writeProduct, products))
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
