package columns

import (
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// builder collects the values of a column.
type builder interface {
	// add adds the value that its place holds, and gives the number of bytes
	// that it takes.
	add() int
	// kind is the type of the column.
	kind() arrow.DataType
	// data is what was collected. It shares the builder's memory, thus is valid
	// until the builder is cleared or added to.
	data() arrow.ArrayData
	// clear forgets what was collected, and keeps the memory.
	clear()
}

// newBuilder makes the builder of a place.
func newBuilder(p Place) (builder, error) {
	if p.Fields != nil {
		return newRowBuilder(p.Fields)
	}
	if p.nullable() {
		return newOptionalBuilder(p)
	}
	if p.At.Type() == timeType {
		return newTimeBuilder(variable[time.Time](p.At))
	}
	if n, ok := numerics[p.At.Kind()]; ok {
		return n.builder(p.At), nil
	}
	switch p.At.Kind() {
	case reflect.String:
		return newTextBuilder(variable[string](p.At)), nil
	case reflect.Bool:
		return &flagBuilder{at: variable[bool](p.At)}, nil
	case reflect.Struct:
		return newRowBuilder(Of(p.At))
	case reflect.Map:
		return newMapBuilder(p.At)
	case reflect.Slice:
		return newSliceBuilder(p.At)
	case reflect.Array:
		all := reflect.New(reflect.SliceOf(p.At.Type().Elem())).Elem()
		all.Set(p.At.Slice(0, p.At.Len())) // It shows the array itself, which stays where it is.
		return newSliceBuilder(all)
	}
	return nil, noColumn(p)
}

func newSliceBuilder(at reflect.Value) (builder, error) {
	if isBytes(at.Type()) {
		return newBytesBuilder(at), nil
	}
	if n, ok := listOf(at.Type()); ok {
		return n.listBuilder(at), nil
	}
	return newListBuilder(at)
}
