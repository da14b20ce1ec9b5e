package columns

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
)

// slot is a place with its reader, and knows about nulls.
type slot struct {
	// name is that of the column, path has those of the columns around it, too.
	name, path string
	at         reflect.Value
	reader     reader
	// optional says that null is a value of the place.
	optional bool
	// nulls is the column, if it holds nulls.
	nulls arrow.Array
}

func newSlot(parent string, p Place) (*slot, error) {
	path := p.Name
	if parent != "" {
		path = parent + "." + path
	}
	reader, err := newReader(path, p)
	return &slot{name: p.Name, path: path, at: p.At, reader: reader, optional: p.nullable()}, err
}

func (s *slot) open(column arrow.Array) error {
	s.nulls = nil
	if column.NullN() > 0 {
		s.nulls = column
		if !holds(column.NullBitmapBytes(), column.Data()) {
			return s.wrong(errBits)
		}
	}
	if err := s.reader.open(column); err != nil {
		return s.wrong(err)
	}
	return nil
}

func (s *slot) read(row int) error {
	if s.nulls == nil || !s.nulls.IsNull(row) {
		if err := s.reader.read(row); err != nil {
			return s.wrong(err)
		}
		return nil
	}
	if !s.optional {
		return s.wrong(errNull)
	}
	s.at.SetZero()
	return nil
}

var errNull = errors.New("it holds null, which its Go type does not have")

// wrong puts the path of the column before an error, once.
func (s *slot) wrong(err error) error {
	var known *columnError
	if errors.As(err, &known) {
		return err
	}
	return &columnError{s.path, err}
}

// columnError is an error of a column.
type columnError struct {
	path string
	err  error
}

func (e *columnError) Error() string { return fmt.Sprintf("column %q: %v", e.path, e.err) }
func (e *columnError) Unwrap() error { return e.err }

// otherType is the error of a column that has not the type that a place needs.
func otherType(column arrow.Array, want string) error {
	return fmt.Errorf("it has the Arrow type %v, and must be %s", column.DataType(), want)
}
