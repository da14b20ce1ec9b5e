package ensemble

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

const (
	// batchRows and batchBytes are where a batch ends, whichever comes first.
	batchRows  = 16384
	batchBytes = 4 << 20
)

// batcher packs rows into Arrow batches.
type batcher struct {
	maxRows, maxBytes int

	writer *columns.Writer
	// The variables that the writer looks at.
	row    reflect.Value
	packed []byte
	micros int64

	// opaque is nil where the rows have no opaque column.
	opaque *opaquePacker
	// oldest is the earliest event time of the rows in the writer.
	oldest beam.EventTime
}

func newBatcher(c carriage) (*batcher, error) {
	row, err := shapeOf(c.Row.T)
	if err != nil {
		return nil, err
	}
	b := &batcher{
		maxRows: batchRows, maxBytes: batchBytes,
		row: reflect.New(c.Row.T).Elem(), oldest: mtime.MaxTimestamp,
	}
	places := row.places(b.row)
	if c.packs(row) {
		if b.opaque, err = newOpaquePacker(c); err != nil {
			return nil, err
		}
		places = append(places, opaquePlace(&b.packed))
	}
	b.writer, err = columns.NewWriter(append(places, timePlace(&b.micros)))
	return b, err
}

// clear forgets the rows of a bundle that did not end.
func (b *batcher) clear() {
	b.writer.Clear()
	b.oldest = mtime.MaxTimestamp
}

// add adds a row, and emits a batch where one is full.
func (b *batcher) add(time beam.EventTime, key, row any, emit func(beam.EventTime, []byte)) error {
	value := reflect.ValueOf(row)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return fmt.Errorf("ensemble: a row is a nil %v", value.Type())
		}
		value = value.Elem()
	}
	b.row.Set(value)
	b.micros = micros(time)
	if b.opaque != nil {
		var err error
		if b.packed, err = b.opaque.pack(key, value); err != nil {
			return err
		}
	}
	b.writer.Add()
	if before := b.writer.Rows() - 1; b.writer.Bytes() > b.maxBytes && before > 0 {
		if err := b.emit(before, emit); err != nil {
			return err
		}
		b.writer.Add() // The row is still in the variables.
	}
	b.oldest = min(b.oldest, time)
	if b.writer.Rows() >= b.maxRows || b.writer.Bytes() >= b.maxBytes {
		return b.flush(emit)
	}
	return nil
}

// flush emits what is left as a batch.
func (b *batcher) flush(emit func(beam.EventTime, []byte)) error {
	if rows := b.writer.Rows(); rows > 0 {
		return b.emit(rows, emit)
	}
	return nil
}

// emit emits the first rows as a batch that is as old as the oldest of them,
// and forgets the others.
func (b *batcher) emit(rows int, emit func(beam.EventTime, []byte)) error {
	batch, err := b.writer.Batch(rows)
	if err != nil {
		return fmt.Errorf("ensemble: %w", err)
	}
	oldest := b.oldest
	b.oldest = mtime.MaxTimestamp
	emit(oldest, batch)
	return nil
}
