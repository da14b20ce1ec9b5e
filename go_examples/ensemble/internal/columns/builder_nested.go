package columns

import (
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// optionalBuilder collects values that may be null: those of nil pointers,
// slices and maps.
type optionalBuilder struct {
	at reflect.Value
	// value is where the inner builder looks, if at is a pointer.
	value reflect.Value
	inner builder
	valid bits
}

func newOptionalBuilder(p Place) (*optionalBuilder, error) {
	b := &optionalBuilder{at: p.At}
	inner := Place{Name: p.Name, At: p.At, Required: true}
	if p.At.Kind() == reflect.Pointer {
		inner = Place{Name: p.Name, At: reflect.New(p.At.Type().Elem()).Elem(), Required: true}
		b.value = inner.At
	}
	var err error
	b.inner, err = newBuilder(inner)
	return b, err
}

func (b *optionalBuilder) add() int {
	isNull := b.at.IsNil()
	b.valid.add(!isNull)
	if b.value.IsValid() {
		if isNull {
			b.value.SetZero()
		} else {
			b.value.Set(b.at.Elem())
		}
	}
	return b.inner.add() // What stands for null is nothing, or zero.
}

func (b *optionalBuilder) kind() arrow.DataType { return b.inner.kind() }

func (b *optionalBuilder) data() arrow.ArrayData {
	data := b.inner.data()
	nulls := b.valid.length - b.valid.set
	if nulls == 0 {
		return data
	}
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(b.valid.bytes)}, data.Buffers()[1:]...)
	return array.NewData(data.DataType(), data.Len(), buffers, data.Children(), nulls, 0)
}

func (b *optionalBuilder) clear() {
	b.inner.clear()
	b.valid.clear()
}

// rowBuilder collects rows.
type rowBuilder struct {
	fields  []builder
	columns []arrow.Field
	length  int
}

func newRowBuilder(places []Place) (*rowBuilder, error) {
	b := &rowBuilder{}
	for _, place := range places {
		field, err := newBuilder(place)
		if err != nil {
			return nil, err
		}
		b.fields = append(b.fields, field)
		b.columns = append(b.columns, place.field(field.kind()))
	}
	return b, nil
}

func (b *rowBuilder) add() int {
	size := 0
	for _, field := range b.fields {
		size += field.add()
	}
	b.length++
	return size
}

func (b *rowBuilder) kind() arrow.DataType { return arrow.StructOf(b.columns...) }

func (b *rowBuilder) data() arrow.ArrayData {
	return array.NewData(b.kind(), b.length, []*memory.Buffer{nil}, b.fieldsData(), 0, 0)
}

func (b *rowBuilder) fieldsData() []arrow.ArrayData {
	all := make([]arrow.ArrayData, len(b.fields))
	for i, field := range b.fields {
		all[i] = field.data()
	}
	return all
}

func (b *rowBuilder) clear() {
	b.length = 0
	for _, field := range b.fields {
		field.clear()
	}
}

// listBuilder collects lists of anything.
type listBuilder struct {
	at reflect.Value
	// item is where the builder of the items looks.
	item  reflect.Value
	items builder
	field arrow.Field
	count int32
	ends  ends
}

func newListBuilder(at reflect.Value) (*listBuilder, error) {
	place := element("item", at.Type().Elem())
	items, err := newBuilder(place)
	if err != nil {
		return nil, err
	}
	b := &listBuilder{at: at, item: place.At, items: items, field: place.field(items.kind())}
	b.clear()
	return b, nil
}

func (b *listBuilder) add() int {
	size := offsetBytes
	for i := range b.at.Len() {
		b.item.Set(b.at.Index(i))
		size += b.items.add()
		b.count++
	}
	b.ends = append(b.ends, b.count)
	return size
}

func (b *listBuilder) kind() arrow.DataType  { return arrow.ListOfField(b.field) }
func (b *listBuilder) data() arrow.ArrayData { return b.ends.data(b.kind(), b.items.data()) }

func (b *listBuilder) clear() {
	b.count = 0
	b.ends.clear()
	b.items.clear()
}

// mapBuilder collects maps, as lists of pairs.
type mapBuilder struct {
	at         reflect.Value
	entries    reflect.MapIter
	key, value reflect.Value
	pairs      *rowBuilder
	ends       ends
}

func newMapBuilder(at reflect.Value) (*mapBuilder, error) {
	key, value := element("key", at.Type().Key()), element("value", at.Type().Elem())
	pairs, err := newRowBuilder([]Place{key, value})
	if err != nil {
		return nil, err
	}
	b := &mapBuilder{at: at, key: key.At, value: value.At, pairs: pairs}
	b.clear()
	return b, nil
}

func (b *mapBuilder) add() int {
	size := offsetBytes
	b.entries.Reset(b.at)
	for b.entries.Next() {
		b.key.SetIterKey(&b.entries)
		b.value.SetIterValue(&b.entries)
		size += b.pairs.add()
	}
	b.entries.Reset(reflect.Value{}) // Lets go of the map.
	b.ends = append(b.ends, int32(b.pairs.length))
	return size
}

func (b *mapBuilder) kind() arrow.DataType {
	return arrow.MapOfFields(b.pairs.columns[0], b.pairs.columns[1])
}

func (b *mapBuilder) data() arrow.ArrayData { return b.ends.data(b.kind(), b.pairs.data()) }

func (b *mapBuilder) clear() {
	b.pairs.clear()
	b.ends.clear()
}
