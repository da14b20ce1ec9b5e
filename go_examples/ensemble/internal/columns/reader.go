package columns

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Reader gives the rows of batches.
type Reader struct{ row *rowReader }

// NewReader makes a Reader of the columns at places. A batch may hold others,
// too, and its columns may be in any order.
func NewReader(places []Place) (*Reader, error) {
	row, err := newRowReader("", places)
	if err != nil {
		return nil, err
	}
	return &Reader{row}, nil
}

// Open takes a batch, and gives the number of its rows.
func (r *Reader) Open(batch []byte) (rows int, err error) {
	defer func() {
		if problem := recover(); problem != nil { // So arrow-go says that buffers do not fit together.
			err = fmt.Errorf("the batch is damaged: %v", problem)
		}
	}()
	record, err := readBatch(batch)
	if err != nil {
		return 0, err
	}
	return int(record.NumRows()), r.row.openFields(record.Schema().FieldIndices, record.Columns())
}

// Read reads a row of the batch into the places.
func (r *Reader) Read(row int) error { return r.row.read(row) }

// readBatch reads the one record batch of a stream.
func readBatch(batch []byte) (arrow.RecordBatch, error) {
	if err := checkSchema(batch); err != nil {
		return nil, fmt.Errorf("the batch is not an Arrow stream: %w", err)
	}
	bounded := ipc.WithAllocator(memoryFor(batch))
	messages := ipc.NewMessageReader(bytes.NewReader(batch), bounded, ipc.WithMetadataSizeLimit(int64(len(batch))))
	stream, err := ipc.NewReaderFromMessageReader(messages, bounded)
	if err != nil {
		return nil, fmt.Errorf("the batch is not an Arrow stream: %w", err)
	}
	if !stream.Next() {
		if err := stream.Err(); err != nil {
			return nil, fmt.Errorf("the batch is damaged: %w", err)
		}
		return nil, errors.New("the stream holds no record batch")
	}
	record := stream.RecordBatch()
	record.Retain()
	if stream.Next() {
		return nil, errors.New("the stream holds more than one record batch")
	}
	return record, nil
}

// reader reads the values of a column that are not null.
type reader interface {
	// open takes the column of a batch, and makes sure that reading it is safe.
	open(column arrow.Array) error
	// read reads a value into the reader's place.
	read(row int) error
}

// newReader makes the reader of a place.
func newReader(path string, p Place) (reader, error) {
	if p.Fields != nil {
		return newRowReader(path, p.Fields)
	}
	if p.At.Type() == timeType {
		return newTimeReader(path, variable[time.Time](p.At))
	}
	if n, ok := numerics[p.At.Kind()]; ok {
		return n.reader(p.At), nil
	}
	switch p.At.Kind() {
	case reflect.String:
		return &textReader{at: variable[string](p.At)}, nil
	case reflect.Bool:
		return &flagReader{at: variable[bool](p.At)}, nil
	case reflect.Struct:
		return newRowReader(path, Of(p.At))
	case reflect.Map:
		return newMapReader(path, p.At)
	case reflect.Pointer:
		return newPointerReader(path, p.At)
	case reflect.Slice, reflect.Array:
		if isBytes(p.At.Type()) {
			return &bytesReader{at: p.At}, nil
		}
		if n, ok := listOf(p.At.Type()); ok {
			return n.listReader(p.At), nil
		}
		return newListReader(path, p.At)
	}
	return nil, noColumn(p)
}

// rowReader reads rows.
type rowReader struct{ slots []*slot }

func newRowReader(path string, places []Place) (*rowReader, error) {
	r := &rowReader{}
	for _, place := range places {
		s, err := newSlot(path, place)
		if err != nil {
			return nil, err
		}
		r.slots = append(r.slots, s)
	}
	return r, nil
}

func (r *rowReader) open(column arrow.Array) error {
	rows, ok := column.(*array.Struct)
	if !ok {
		return otherType(column, "a struct")
	}
	fields := make([]arrow.Array, rows.NumField())
	for i := range fields {
		fields[i] = rows.Field(i)
		if fields[i].Len() < rows.Len() {
			return errFields
		}
	}
	kind := rows.DataType().(*arrow.StructType)
	return r.openFields(func(name string) []int { return fieldIndex(kind, name) }, fields)
}

var errFields = errors.New("its fields have fewer rows than it")

func fieldIndex(t *arrow.StructType, name string) []int {
	if i, ok := t.FieldIdx(name); ok {
		return []int{i}
	}
	return nil
}

// openFields finds the columns of the places by their names.
func (r *rowReader) openFields(index func(name string) []int, columns []arrow.Array) error {
	for _, s := range r.slots {
		found := index(s.name)
		if len(found) != 1 {
			return &columnError{s.path, errors.New("it is not in the batch")}
		}
		if err := s.open(columns[found[0]]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) read(row int) error {
	for _, s := range r.slots {
		if err := s.read(row); err != nil {
			return err
		}
	}
	return nil
}
