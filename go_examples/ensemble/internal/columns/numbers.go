package columns

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~float32 | ~float64
}

// fixed are the types of the values of a column of numbers.
type fixed interface {
	int8 | int32 | int64 | float32 | float64
}

// numeric are the builders and readers for one kind of Go's numbers.
type numeric struct {
	goType      reflect.Type
	builder     func(at reflect.Value) builder
	listBuilder func(at reflect.Value) builder
	reader      func(at reflect.Value) reader
	listReader  func(at reflect.Value) reader
}

// numerics says how Go's numbers are written and read: in the column types
// that the service knows.
var numerics = map[reflect.Kind]numeric{
	reflect.Int8:    numericOf[int8, int32](&arrow.Int32Type{}),
	reflect.Int16:   numericOf[int16, int32](&arrow.Int32Type{}),
	reflect.Int32:   numericOf[int32, int32](&arrow.Int32Type{}),
	reflect.Uint8:   numericOf[uint8, int8](&arrow.Int8Type{}), // The service knows that it has no sign.
	reflect.Uint16:  numericOf[uint16, int32](&arrow.Int32Type{}),
	reflect.Int64:   numericOf[int64, int64](&arrow.Int64Type{}),
	reflect.Int:     numericOf[int, int64](&arrow.Int64Type{}),
	reflect.Uint32:  numericOf[uint32, int64](&arrow.Int64Type{}),
	reflect.Float32: numericOf[float32, float32](&arrow.Float32Type{}),
	reflect.Float64: numericOf[float64, float64](&arrow.Float64Type{}),
}

func numericOf[G number, A fixed](column arrow.FixedWidthDataType) numeric {
	return numeric{
		goType:  reflect.TypeFor[G](),
		builder: func(at reflect.Value) builder { return &numberBuilder[G, A]{at: variable[G](at), column: column} },
		listBuilder: func(at reflect.Value) builder {
			b := &numbersBuilder[G, A]{at: variable[[]G](at), column: column}
			b.same, _ = any(b.at).(*[]A)
			b.clear()
			return b
		},
		reader: func(at reflect.Value) reader { return &numberReader[G, A]{at: variable[G](at), column: column} },
		listReader: func(at reflect.Value) reader {
			r := &numbersReader[G, A]{at: variable[[]G](at), column: column}
			r.same, _ = any(r.at).(*[]A)
			return r
		},
	}
}

// listOf gives what is known of the numbers that a slice type holds, false
// where it holds something else.
func listOf(t reflect.Type) (numeric, bool) {
	n, ok := numerics[t.Elem().Kind()]
	return n, ok && t.Kind() == reflect.Slice && t.Elem() == n.goType
}

// isBytes says that t is a slice of bytes, one value for columns.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
