package columns

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// pointerReader reads values that are behind a pointer.
type pointerReader struct {
	at reflect.Value
	// value is where the inner reader puts one.
	value reflect.Value
	inner reader
}

func newPointerReader(path string, at reflect.Value) (*pointerReader, error) {
	value := reflect.New(at.Type().Elem()).Elem()
	inner, err := newReader(path, Place{Name: path, At: value, Required: true})
	return &pointerReader{at: at, value: value, inner: inner}, err
}

func (r *pointerReader) open(column arrow.Array) error { return r.inner.open(column) }

func (r *pointerReader) read(row int) error {
	if err := r.inner.read(row); err != nil {
		return err
	}
	own := reflect.New(r.value.Type())
	own.Elem().Set(r.value)
	r.at.Set(own)
	return nil
}

// listReader reads lists of anything into slices and arrays.
type listReader struct {
	at    reflect.Value
	items *slot
	ends  []int
}

func newListReader(path string, at reflect.Value) (*listReader, error) {
	items, err := newSlot(path, element("item", at.Type().Elem()))
	return &listReader{at: at, items: items}, err
}

func (r *listReader) open(column arrow.Array) error {
	items, ends, err := listsIn(column, r.ends)
	if err != nil {
		return err
	}
	r.ends = ends
	return r.items.open(items)
}

func (r *listReader) read(row int) error {
	start, end := r.ends[row], r.ends[row+1]
	if r.at.Kind() == reflect.Slice {
		r.at.Set(reflect.MakeSlice(r.at.Type(), end-start, end-start))
	} else if r.at.Len() != end-start {
		return fmt.Errorf("it holds a list of %d values, and its Go type has %d", end-start, r.at.Len())
	}
	for i := range end - start {
		if err := r.items.read(start + i); err != nil {
			return err
		}
		r.at.Index(i).Set(r.items.at)
	}
	return nil
}

// mapReader reads maps.
type mapReader struct {
	at         reflect.Value
	key, value *slot
	ends       []int
}

func newMapReader(path string, at reflect.Value) (*mapReader, error) {
	key, err := newSlot(path, element("key", at.Type().Key()))
	if err != nil {
		return nil, err
	}
	value, err := newSlot(path, element("value", at.Type().Elem()))
	return &mapReader{at: at, key: key, value: value}, err
}

func (r *mapReader) open(column arrow.Array) error {
	maps, ok := column.(*array.Map)
	if !ok {
		return otherType(column, "a map")
	}
	_, ends, err := listsIn(column, r.ends)
	if err != nil {
		return err
	}
	r.ends = ends
	if last := ends[len(ends)-1]; maps.Keys().Len() < last || maps.Items().Len() < last {
		return errFields
	}
	if err := r.key.open(maps.Keys()); err != nil {
		return err
	}
	return r.value.open(maps.Items())
}

func (r *mapReader) read(row int) error {
	start, end := r.ends[row], r.ends[row+1]
	r.at.Set(reflect.MakeMapWithSize(r.at.Type(), end-start))
	for entry := start; entry < end; entry++ {
		if err := r.key.read(entry); err != nil {
			return err
		}
		if err := r.value.read(entry); err != nil {
			return err
		}
		r.at.SetMapIndex(r.key.at, r.value.at)
	}
	return nil
}
