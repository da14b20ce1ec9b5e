package columns

import (
	"errors"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// numberReader reads numbers.
type numberReader[G number, A fixed] struct {
	at     *G
	column arrow.FixedWidthDataType
	values []A
}

func (r *numberReader[G, A]) open(column arrow.Array) (err error) {
	r.values, err = numbersIn[A](column, r.column)
	return err
}

func (r *numberReader[G, A]) read(row int) error {
	*r.at = G(r.values[row])
	return nil
}

// numbersIn gives the values of a column of numbers. They lie in the batch.
func numbersIn[A fixed](column arrow.Array, want arrow.FixedWidthDataType) ([]A, error) {
	data := column.Data()
	if data.DataType().ID() != want.ID() {
		return nil, otherType(column, want.String())
	}
	if data.Len() == 0 {
		return []A{}, nil
	}
	end := data.Offset() + data.Len()
	return arrow.GetData[A](data.Buffers()[1].Bytes()[:end*want.Bytes()])[data.Offset():end:end], nil
}

// numbersReader reads lists of numbers. Where it can, it gives the numbers of
// the batch itself, of which every list has its own.
type numbersReader[G number, A fixed] struct {
	at *[]G
	// same is at, where values need no conversion.
	same   *[]A
	column arrow.FixedWidthDataType
	values []A
	ends   []int
}

func (r *numbersReader[G, A]) open(column arrow.Array) error {
	items, ends, err := listsIn(column, r.ends)
	if err != nil {
		return err
	}
	if items.NullN() > 0 {
		return errNull
	}
	r.ends = ends
	r.values, err = numbersIn[A](items, r.column)
	return err
}

func (r *numbersReader[G, A]) read(row int) error {
	start, end := r.ends[row], r.ends[row+1]
	if r.same != nil {
		*r.same = r.values[start:end:end]
		return nil
	}
	list := make([]G, end-start)
	for i, value := range r.values[start:end] {
		list[i] = G(value)
	}
	*r.at = list
	return nil
}

// listsIn gives the items of a column of lists, and where the lists of the
// rows end, after where the first one starts.
func listsIn(column arrow.Array, ends []int) (arrow.Array, []int, error) {
	switch column.DataType().ID() {
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.MAP:
	default:
		return nil, nil, otherType(column, "a list")
	}
	lists := column.(array.ListLike)
	items := lists.ListValues()
	ends, err := boundaries(column.Len(), items.Len(), ends, lists.ValueOffsets)
	return items, ends, err
}

var errOrder = errors.New("the places where its values end are damaged")

// boundaries collects where values of variable length end, after where the
// first one starts, and makes sure that all lie within limit.
func boundaries(
	rows, limit int, into []int, offsets func(row int) (start, end int64),
) ([]int, error) {
	into = append(into[:0], 0)
	for row := range rows {
		start, end := offsets(row)
		if row == 0 {
			into[0] = int(start)
		}
		if start < 0 || start > end || end > int64(limit) || int(start) != into[row] {
			return nil, errOrder
		}
		into = append(into, int(end))
	}
	return into, nil
}

// textReader reads texts.
type textReader struct {
	at   *string
	all  string
	ends []int
}

func (r *textReader) open(column arrow.Array) error {
	texts, ok := column.(*array.String)
	if !ok {
		return otherType(column, "utf8")
	}
	data, ends, err := bytesIn(texts, r.ends)
	r.all, r.ends = string(data), ends // A text that is kept must not keep the whole batch.
	return err
}

func (r *textReader) read(row int) error {
	*r.at = r.all[r.ends[row]:r.ends[row+1]]
	return nil
}

// bytesReader reads values of bytes. They lie in the batch.
type bytesReader struct {
	at   reflect.Value
	all  []byte
	ends []int
}

func (r *bytesReader) open(column arrow.Array) error {
	values, ok := column.(*array.Binary)
	if !ok {
		return otherType(column, "binary")
	}
	all, ends, err := bytesIn(values, r.ends)
	r.all, r.ends = all, ends
	return err
}

func (r *bytesReader) read(row int) error {
	start, end := r.ends[row], r.ends[row+1]
	r.at.SetBytes(r.all[start:end:end])
	return nil
}

// bytesIn gives the bytes of a column of texts or bytes, and where those of
// the rows end, after where the first ones start.
func bytesIn(column arrow.Array, ends []int) ([]byte, []int, error) {
	data := column.Data()
	all := []byte{}
	if values := data.Buffers()[2]; values != nil && values.Len() > 0 {
		all = values.Bytes()
	}
	if data.Len() == 0 {
		return all, append(ends[:0], 0), nil
	}
	offsets := arrow.GetOffsets[int32](data, 1)
	ends, err := boundaries(data.Len(), len(all), ends, func(row int) (int64, int64) {
		return int64(offsets[row]), int64(offsets[row+1])
	})
	return all, ends, err
}

var errBits = errors.New("it has fewer bits than rows")

// holds reports whether there is a bit for each row of a column.
func holds(bits []byte, column arrow.ArrayData) bool {
	return len(bits) >= (column.Offset()+column.Len()+7)/8
}

// flagReader reads booleans.
type flagReader struct {
	at    *bool
	flags *array.Boolean
}

func (r *flagReader) open(column arrow.Array) error {
	flags, ok := column.(*array.Boolean)
	if !ok {
		return otherType(column, "bool")
	}
	r.flags = flags
	if bits := flags.Data().Buffers()[1]; flags.Len() > 0 && (bits == nil || !holds(bits.Bytes(), flags.Data())) {
		return errBits
	}
	return nil
}

func (r *flagReader) read(row int) error {
	*r.at = r.flags.Value(row)
	return nil
}
