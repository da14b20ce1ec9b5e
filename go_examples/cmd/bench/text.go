package main

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	register.DoFn2x1[part, func(textRow), error](&textRows{})
	register.Emitter1[textRow]()
	register.DoFn2x0[textScored, func(bundleTotal)](&textSink{})
}

// textRow is a sentence.
type textRow struct {
	ID   int64  `beam:"id"`
	Text string `beam:"text"`
}

// textScored is what the model says of a sentence.
type textScored struct {
	ID    int64   `beam:"id"`
	Label string  `beam:"label"`
	Score float64 `beam:"score"`
}

// textRows makes sentences of the values in a file.
type textRows struct {
	Values string
}

func (fn *textRows) ProcessElement(of part, emit func(textRow)) error {
	texts, err := readColumn[*array.String](fn.Values)
	if err != nil {
		return err
	}
	for id := of.First; id < of.End; id++ {
		emit(textRow{ID: id, Text: texts.Value(int(id) % texts.Len())})
	}
	return nil
}

func textEnsemble(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &textRows{Values: *values}, source)
	return ensemble.TryRun[textScored](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
}

// textSink takes what was scored.
type textSink struct{ total }

func (fn *textSink) ProcessElement(scored textScored, _ func(bundleTotal)) { fn.add(scored.Score) }
