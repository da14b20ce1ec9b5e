package ensemble

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	registerStep(func(f *batchFn) methods {
		return methods{
			"Setup":          reflectx.MakeFunc(f.Setup),
			"StartBundle":    reflectx.MakeFunc(f.StartBundle),
			"ProcessElement": batchCall{direct(f.ProcessElement)},
			"FinishBundle":   reflectx.MakeFunc(f.FinishBundle),
		}
	})
	registerStep(func(f *batchKeyedFn) methods {
		return methods{
			"Setup":          reflectx.MakeFunc(f.Setup),
			"StartBundle":    reflectx.MakeFunc(f.StartBundle),
			"ProcessElement": batchKeyedCall{direct(f.ProcessElement)},
			"FinishBundle":   reflectx.MakeFunc(f.FinishBundle),
		}
	})
	registerStep(func(f *unbatchFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": reflectx.MakeFunc(f.ProcessElement)}
	})
	registerStep(func(f *unbatchKeyedFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": reflectx.MakeFunc(f.ProcessElement)}
	})
	register.Emitter2[beam.EventTime, []byte]()
	register.Emitter2[beam.EventTime, beam.Y]()
	register.Emitter3[beam.EventTime, beam.Y, beam.Z]()
}

// batchFn packs the rows of the global window into Arrow batches.
type batchFn struct {
	Carriage carriage

	batcher *batcher
}

// Setup prepares the packing.
func (f *batchFn) Setup() (err error) {
	f.batcher, err = newBatcher(f.Carriage)
	return err
}

// StartBundle makes sure that a batch holds rows of one bundle only.
func (f *batchFn) StartBundle(func(beam.EventTime, []byte)) { f.batcher.clear() }

// ProcessElement packs one row.
func (f *batchFn) ProcessElement(time beam.EventTime, row beam.X, emit func(beam.EventTime, []byte)) error {
	return f.batcher.add(time, nil, row, emit)
}

// FinishBundle emits what is left.
func (f *batchFn) FinishBundle(emit func(beam.EventTime, []byte)) error { return f.batcher.flush(emit) }

// batchKeyedFn does the same for keyed rows; the key travels in the opaque
// column.
type batchKeyedFn struct {
	Carriage carriage

	batcher *batcher
}

// Setup prepares the packing.
func (f *batchKeyedFn) Setup() (err error) {
	f.batcher, err = newBatcher(f.Carriage)
	return err
}

// StartBundle makes sure that a batch holds rows of one bundle only.
func (f *batchKeyedFn) StartBundle(func(beam.EventTime, []byte)) { f.batcher.clear() }

// ProcessElement packs one row and its key.
func (f *batchKeyedFn) ProcessElement(
	time beam.EventTime, key beam.X, row beam.Y, emit func(beam.EventTime, []byte),
) error {
	return f.batcher.add(time, key, row, emit)
}

// FinishBundle emits what is left.
func (f *batchKeyedFn) FinishBundle(emit func(beam.EventTime, []byte)) error {
	return f.batcher.flush(emit)
}

// unbatchFn unpacks the rows of Arrow batches: scored ones, or Failed ones.
type unbatchFn struct {
	Carriage carriage

	unbatcher *unbatcher
}

// Setup prepares the unpacking.
func (f *unbatchFn) Setup() (err error) {
	f.unbatcher, err = newUnbatcher(f.Carriage)
	return err
}

// ProcessElement emits the rows of a batch at their own times.
func (f *unbatchFn) ProcessElement(batch []byte, emit func(beam.EventTime, beam.Y)) error {
	rows, err := f.unbatcher.open(batch)
	if err != nil {
		return err
	}
	for i := range rows {
		time, _, row, err := f.unbatcher.read(i)
		if err != nil {
			return err
		}
		emit(time, row)
	}
	return nil
}

// unbatchKeyedFn does the same for keyed rows.
type unbatchKeyedFn struct {
	Carriage carriage

	unbatcher *unbatcher
}

// Setup prepares the unpacking.
func (f *unbatchKeyedFn) Setup() (err error) {
	f.unbatcher, err = newUnbatcher(f.Carriage)
	return err
}

// ProcessElement emits the rows of a batch, with their keys, at their own
// times.
func (f *unbatchKeyedFn) ProcessElement(batch []byte, emit func(beam.EventTime, beam.Y, beam.Z)) error {
	rows, err := f.unbatcher.open(batch)
	if err != nil {
		return err
	}
	for i := range rows {
		time, key, row, err := f.unbatcher.read(i)
		if err != nil {
			return err
		}
		emit(time, key, row)
	}
	return nil
}
