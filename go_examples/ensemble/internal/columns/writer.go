package columns

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

const (
	// streamBytes is about what the schema and the ends of buffers add, a
	// column, to the bytes of a batch.
	streamBytes = 256

	// A batch is compressed where that saves at least a quarter of it, which is
	// about where handing on the bytes costs more than LZ4 does. Where it saves
	// less, it is tried again plainBatches later. Small batches are left as they are.
	worthSaving  = 0.25
	plainBatches = 32
	smallBytes   = 64 << 10
)

// Writer collects rows and makes batches of them.
type Writer struct {
	rows   *rowBuilder
	schema *arrow.Schema
	bytes  int
	// plain is how many batches are left to write before compressing one.
	plain int
}

// NewWriter makes a Writer of the columns at places.
func NewWriter(places []Place) (*Writer, error) {
	rows, err := newRowBuilder(places)
	if err != nil {
		return nil, err
	}
	return &Writer{rows: rows, schema: arrow.NewSchema(rows.columns, nil)}, nil
}

// Add adds the row that the places hold.
func (w *Writer) Add() { w.bytes += w.rows.add() }

// Rows is the number of rows that were added since the last batch.
func (w *Writer) Rows() int { return w.rows.length }

// Bytes is about how much they take.
func (w *Writer) Bytes() int { return w.bytes }

// Clear forgets the rows that were added.
func (w *Writer) Clear() {
	w.rows.clear()
	w.bytes = 0
}

// Batch makes a batch of the first rows that were added, and forgets all.
func (w *Writer) Batch(rows int) ([]byte, error) {
	defer w.Clear()
	if w.bytes > math.MaxInt32 {
		return nil, fmt.Errorf("a row takes %d bytes, and a batch holds at most %d", w.bytes, math.MaxInt32)
	}
	all := make([]arrow.Array, len(w.rows.fields))
	for i, data := range w.rows.fieldsData() {
		all[i] = array.MakeFromData(data)
	}
	batch := array.NewRecordBatch(w.schema, all, int64(w.rows.length)).NewSlice(0, int64(rows))
	return w.write(batch)
}

// write writes a batch as an Arrow IPC stream, compressed where that pays.
func (w *Writer) write(batch arrow.RecordBatch) ([]byte, error) {
	switch {
	case w.bytes < smallBytes:
		return w.stream(batch, w.bytes)
	case w.plain > 0:
		w.plain--
		return w.stream(batch, w.bytes)
	}
	out, err := w.stream(batch, w.bytes/2, ipc.WithLZ4())
	if float64(len(out)) > (1-worthSaving)*float64(w.bytes) {
		w.plain = plainBatches
	}
	return out, err
}

// stream writes a batch of about as many bytes.
func (w *Writer) stream(batch arrow.RecordBatch, about int, options ...ipc.Option) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(about + streamBytes*(1+int(batch.NumCols())))
	stream := ipc.NewWriter(&out, append(options, ipc.WithSchema(w.schema))...)
	if err := stream.Write(batch); err != nil {
		return nil, fmt.Errorf("writing a batch: %w", err)
	}
	if err := stream.Close(); err != nil {
		return nil, fmt.Errorf("writing a batch: %w", err)
	}
	return out.Bytes(), nil
}
