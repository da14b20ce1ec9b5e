package main

import (
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	register.DoFn2x1[part, func(digitsRow), error](&digitsRows{})
	register.Emitter1[digitsRow]()
	register.Function1x2(digitsFeatures)
	register.Function4x1(digitsCombined)
	register.DoFn2x0[digitsScored, func(bundleTotal)](&digitsSink{})
}

// digitsRow is an image.
type digitsRow struct {
	ID     int64     `beam:"id"`
	Pixels []float64 `beam:"pixels"`
}

// digitsScored is what the ensemble and each member say of an image.
type digitsScored struct {
	ID           int64   `beam:"id"`
	Label        string  `beam:"label"`
	Confidence   float64 `beam:"confidence"`
	ForestLabel  string  `beam:"forest_label"`
	BoostLabel   string  `beam:"boost_label"`
	NetworkLabel string  `beam:"network_label"`
}

// digitsRows makes images of the values in a file.
type digitsRows struct {
	Values string
}

func (fn *digitsRows) ProcessElement(of part, emit func(digitsRow)) error {
	values, err := readValues(fn.Values, 64)
	if err != nil {
		return err
	}
	for id := of.First; id < of.End; id++ {
		emit(digitsRow{ID: id, Pixels: values[int(id)%len(values)]})
	}
	return nil
}

func digitsEnsemble(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &digitsRows{Values: *values}, source)
	return ensemble.TryRun[digitsScored](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
}

func digitsHandWired(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &digitsRows{Values: *values}, source)
	features := beam.ParDo(s, digitsFeatures, rows)
	forest, err := runInference(s, features, "sklearn", "forest.joblib")
	if err != nil {
		return forest, err
	}
	boost, err := runInference(s, features, "xgboost", "boost.json")
	if err != nil {
		return boost, err
	}
	network, err := runInference(s, features, "onnx", "network.onnx")
	if err != nil {
		return network, err
	}
	return beam.ParDo(s, digitsCombined, beam.CoGroupByKey(s, forest, boost, network)), nil
}

func digitsFeatures(row digitsRow) (int64, []float64) { return row.ID, row.Pixels }

// digitsCombined votes with the weights of the ensemble file.
func digitsCombined(id int64, forest, boost, network func(*prediction) bool) digitsScored {
	weights := [...]float64{0.25, 0.25, 0.5}
	average := make([]float64, 10)
	var labels [len(weights)]string
	for i, member := range members(forest, boost, network) {
		for digit, p := range member {
			average[digit] += weights[i] * p
		}
		labels[i] = strconv.Itoa(best(member))
	}
	winner := best(average)
	return digitsScored{
		ID: id, Label: strconv.Itoa(winner), Confidence: average[winner],
		ForestLabel: labels[0], BoostLabel: labels[1], NetworkLabel: labels[2],
	}
}

func best(proba []float64) int {
	winner := 0
	for digit, p := range proba {
		if p > proba[winner] {
			winner = digit
		}
	}
	return winner
}

// digitsSink takes what was scored.
type digitsSink struct{ total }

func (fn *digitsSink) ProcessElement(scored digitsScored, _ func(bundleTotal)) {
	fn.add(scored.Confidence)
}
