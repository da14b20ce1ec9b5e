package main

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	register.DoFn2x1[part, func(imageRow), error](&imageRows{})
	register.Emitter1[imageRow]()
	register.DoFn2x0[imageScored, func(bundleTotal)](&imageSink{})
}

// imageRow is a picture, as the bytes of its file.
type imageRow struct {
	ID      int64  `beam:"id"`
	Picture []byte `beam:"picture"`
}

// imageScored is what the model says of a picture.
type imageScored struct {
	ID         int64   `beam:"id"`
	Label      string  `beam:"label"`
	Confidence float64 `beam:"confidence"`
}

// imageRows makes pictures of the values in a file.
type imageRows struct {
	Values string
}

func (fn *imageRows) ProcessElement(of part, emit func(imageRow)) error {
	images, err := readColumn[*array.Binary](fn.Values)
	if err != nil {
		return err
	}
	for id := of.First; id < of.End; id++ {
		emit(imageRow{ID: id, Picture: images.Value(int(id) % images.Len())})
	}
	return nil
}

func imageEnsemble(s beam.Scope, source beam.PCollection) (beam.PCollection, error) {
	rows := beam.ParDo(s, &imageRows{Values: *values}, source)
	return ensemble.TryRun[imageScored](
		s, rows, ensemble.FromFile(*ensembleFile), ensemble.WithExpansionAddr(*expansionAddr))
}

// imageSink takes what was scored.
type imageSink struct{ total }

func (fn *imageSink) ProcessElement(scored imageScored, _ func(bundleTotal)) {
	fn.add(scored.Confidence)
}
