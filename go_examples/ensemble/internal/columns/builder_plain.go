package columns

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// offsetBytes is what a value of variable length takes beside itself.
const offsetBytes = 4

// numberBuilder collects numbers.
type numberBuilder[G number, A fixed] struct {
	at     *G
	column arrow.FixedWidthDataType
	values []A
}

func (b *numberBuilder[G, A]) add() int {
	b.values = append(b.values, A(*b.at))
	return b.column.Bytes()
}

func (b *numberBuilder[G, A]) kind() arrow.DataType  { return b.column }
func (b *numberBuilder[G, A]) clear()                { b.values = b.values[:0] }
func (b *numberBuilder[G, A]) data() arrow.ArrayData { return numbersData(b.column, b.values) }

// numbersBuilder collects lists of numbers.
type numbersBuilder[G number, A fixed] struct {
	at *[]G
	// same is at, where values need no conversion.
	same   *[]A
	column arrow.FixedWidthDataType
	values []A
	ends   ends
}

func (b *numbersBuilder[G, A]) add() int {
	before := len(b.values)
	if b.same != nil {
		b.values = append(b.values, *b.same...)
	} else {
		for _, value := range *b.at {
			b.values = append(b.values, A(value))
		}
	}
	b.ends = append(b.ends, int32(len(b.values)))
	return offsetBytes + b.column.Bytes()*(len(b.values)-before)
}

func (b *numbersBuilder[G, A]) kind() arrow.DataType { return arrow.ListOfNonNullable(b.column) }

func (b *numbersBuilder[G, A]) data() arrow.ArrayData {
	return b.ends.data(b.kind(), numbersData(b.column, b.values))
}

func (b *numbersBuilder[G, A]) clear() {
	b.values = b.values[:0]
	b.ends.clear()
}

func numbersData[A fixed](column arrow.DataType, values []A) arrow.ArrayData {
	return plainData(column, len(values), arrow.GetBytes(values))
}

// plainData is a column without nulls, made of buffers.
func plainData(column arrow.DataType, length int, buffers ...[]byte) arrow.ArrayData {
	all := []*memory.Buffer{nil}
	for _, buffer := range buffers {
		all = append(all, memory.NewBufferBytes(buffer))
	}
	return array.NewData(column, length, all, nil, 0, 0)
}

// ends are where the values of variable length end, after a 0.
type ends []int32

func (e *ends) clear() { *e = append((*e)[:0], 0) }

// data is a column of lists of values.
func (e ends) data(column arrow.DataType, values arrow.ArrayData) arrow.ArrayData {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.GetBytes(e))}
	return array.NewData(column, len(e)-1, buffers, []arrow.ArrayData{values}, 0, 0)
}

// bytesBuilder collects texts, or values of bytes.
type bytesBuilder struct {
	column arrow.DataType
	// append adds the value of the place to a slice.
	append func([]byte) []byte
	values []byte
	ends   ends
}

func newTextBuilder(at *string) *bytesBuilder {
	b := &bytesBuilder{
		column: arrow.BinaryTypes.String,
		append: func(all []byte) []byte { return append(all, *at...) },
	}
	b.clear()
	return b
}

func newBytesBuilder(at reflect.Value) *bytesBuilder {
	b := &bytesBuilder{
		column: arrow.BinaryTypes.Binary,
		append: func(all []byte) []byte { return append(all, at.Bytes()...) },
	}
	b.clear()
	return b
}

func (b *bytesBuilder) add() int {
	before := len(b.values)
	b.values = b.append(b.values)
	b.ends = append(b.ends, int32(len(b.values)))
	return offsetBytes + len(b.values) - before
}

func (b *bytesBuilder) kind() arrow.DataType { return b.column }

func (b *bytesBuilder) data() arrow.ArrayData {
	return plainData(b.column, len(b.ends)-1, arrow.GetBytes(b.ends), b.values)
}

func (b *bytesBuilder) clear() {
	b.values = b.values[:0]
	b.ends.clear()
}

// flagBuilder collects booleans.
type flagBuilder struct {
	at   *bool
	bits bits
}

func (b *flagBuilder) add() int {
	b.bits.add(*b.at)
	return 1
}

func (b *flagBuilder) kind() arrow.DataType  { return arrow.FixedWidthTypes.Boolean }
func (b *flagBuilder) data() arrow.ArrayData { return plainData(b.kind(), b.bits.length, b.bits.bytes) }
func (b *flagBuilder) clear()                { b.bits.clear() }

// bits are the booleans of a column, eight a byte.
type bits struct {
	bytes       []byte
	length, set int
}

func (b *bits) add(bit bool) {
	if b.length%8 == 0 {
		b.bytes = append(b.bytes, 0)
	}
	if bit {
		bitutil.SetBit(b.bytes, b.length)
		b.set++
	}
	b.length++
}

func (b *bits) clear() { *b = bits{bytes: b.bytes[:0]} }
