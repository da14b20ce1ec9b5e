package main

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	register.DoFn2x1[part, func(lightRow), error](&lightRows{})
	register.Emitter1[lightRow]()
	register.Function1x2(lightFeatures)
	register.Function3x1(lightCombined)
	register.DoFn2x0[lightScored, func(bundleTotal)](&lightSink{})
}

// lightRow is four numbers.
type lightRow struct {
	ID int64   `beam:"id"`
	A  float64 `beam:"a"`
	B  float64 `beam:"b"`
	C  float64 `beam:"c"`
	D  float64 `beam:"d"`
}

// lightScored has the probabilities of both classes.
type lightScored struct {
	ID    int64     `beam:"id"`
	Proba []float64 `beam:"proba"`
}

// lightRows makes rows of the values in a file.
type lightRows struct {
	Values string
}

func (fn *lightRows) ProcessElement(of part, emit func(lightRow)) error {
	values, err := readValues(fn.Values, 4)
	if err != nil {
		return err
	}
	for id := of.First; id < of.End; id++ {
		v := values[int(id)%len(values)]
		emit(lightRow{ID: id, A: v[0], B: v[1], C: v[2], D: v[3]})
	}
	return nil
}

func lightEnsemble(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &lightRows{Values: *values}, source)
	return ensemble.TryRun[lightScored](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
}

func lightHandWired(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &lightRows{Values: *values}, source)
	features := beam.ParDo(s, lightFeatures, rows)
	linear, err := runInference(s, features, "sklearn", "linear.joblib")
	if err != nil {
		return linear, err
	}
	forest, err := runInference(s, features, "sklearn", "forest.joblib")
	if err != nil {
		return forest, err
	}
	return beam.ParDo(s, lightCombined, beam.CoGroupByKey(s, linear, forest)), nil
}

func lightFeatures(row lightRow) (int64, []float64) {
	return row.ID, []float64{row.A, row.B, row.C, row.D}
}

// lightCombined averages.
func lightCombined(id int64, linear, forest func(*prediction) bool) lightScored {
	proba := make([]float64, 2)
	for _, member := range members(linear, forest) {
		for class, p := range member {
			proba[class] += p / 2
		}
	}
	return lightScored{ID: id, Proba: proba}
}

// lightSink takes what was scored.
type lightSink struct{ total }

func (fn *lightSink) ProcessElement(scored lightScored, _ func(bundleTotal)) { fn.add(scored.Proba[1]) }
