package columns

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// streamBytes is about what the schema and the ends of buffers add, a column,
// to the bytes of a batch.
const streamBytes = 256

// Writer collects rows and makes batches of them.
type Writer struct {
	rows   *rowBuilder
	schema *arrow.Schema
	bytes  int
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
	var out bytes.Buffer
	out.Grow(w.bytes + streamBytes*(1+len(all)))
	stream := ipc.NewWriter(&out, ipc.WithSchema(w.schema))
	if err := stream.Write(batch); err != nil {
		return nil, fmt.Errorf("writing a batch: %w", err)
	}
	if err := stream.Close(); err != nil {
		return nil, fmt.Errorf("writing a batch: %w", err)
	}
	return out.Bytes(), nil
}
