// Command detection finds things in pictures: the files of a pattern in, JSON
// lines, Parquet and, with a flag, a BigQuery table out.
//
//	go run ./cmd/detection --input='../build/examples/detection/images/*' --output=found.jsonl
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
	"path"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/bigqueryio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/parquetio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

var (
	input         = flag.String("input", "", "Pattern of the picture files (required).")
	output        = flag.String("output", "", "File to write, JSON lines; FILE.parquet and FILE.errors beside it (required).")
	table         = flag.String("bigquery", "", "Table to write too: PROJECT:DATASET.TABLE.")
	ensembleFile  = flag.String("ensemble", "../examples/detection/detection.yaml", "Ensemble file.")
	expansionAddr = flag.String("expansion_addr", "", "Address of the expansion service; starts one if empty.")
)

// Picture is a row of the input: a file's name, by which its answer is known
// again, and what is in it.
type Picture struct {
	File string `beam:"file"`
	Data []byte `beam:"data"`
}

// Thing is something in a picture: what it is, [left, top, right, bottom] in
// pixels, and how sure that is.
type Thing struct {
	Label string    `beam:"label" json:"label" bigquery:"label" parquet:"name=label, type=BYTE_ARRAY, convertedtype=UTF8"`
	Box   []float32 `beam:"box" json:"box" bigquery:"box" parquet:"name=box, type=LIST, valuetype=FLOAT"`
	Score float32   `beam:"score" json:"score" bigquery:"score" parquet:"name=score, type=FLOAT"`
}

// Found is a row of the output. BigQuery has a repeated record of the things.
type Found struct {
	File  string  `beam:"file" json:"file" bigquery:"file" parquet:"name=file, type=BYTE_ARRAY, convertedtype=UTF8"`
	Found []Thing `beam:"found" json:"found" bigquery:"found" parquet:"name=found, type=LIST"`
}

// Failure is a row of the errors.
type Failure struct {
	File string `json:"file"`
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

func init() {
	register.Function2x2(readPicture)
	register.Function1x2(writeFound)
	register.Function1x2(writeFailure)
}

func readPicture(ctx context.Context, file fileio.ReadableFile) (Picture, error) {
	data, err := file.Read(ctx)
	return Picture{path.Base(file.Metadata.Path), data}, err
}

func writeFound(found Found) (string, error) {
	line, err := json.Marshal(found)
	return string(line), err
}

func writeFailure(failed ensemble.Failed[Picture]) (string, error) {
	line, err := json.Marshal(Failure{failed.Element.File, failed.Code, failed.Msg})
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
	textio.Write(s, *output, beam.ParDo(s, writeFound, found))
	textio.Write(s, *output+".errors", beam.ParDo(s, writeFailure, failed))
	parquetio.Write(s, *output+".parquet", found)
	if *table != "" {
		name, err := bigqueryio.NewQualifiedTableName(*table)
		if err != nil {
			return err
		}
		bigqueryio.Write(s, name.Project, *table, found)
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
