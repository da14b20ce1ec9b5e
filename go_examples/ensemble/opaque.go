package ensemble

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// opaquePacker makes the values of the opaque column: a row's key, and the
// fields that other languages cannot read, in Beam's coders for Go.
type opaquePacker struct {
	row       shape
	fields    reflect.Type
	encodeKey func(any, io.Writer) error
	encode    func(any, io.Writer) error
	packed    bytes.Buffer
}

func newOpaquePacker(c carriage) (p *opaquePacker, err error) {
	p = &opaquePacker{encodeKey: func(any, io.Writer) error { return nil }}
	if p.row, err = shapeOf(c.Row.T); err != nil {
		return nil, err
	}
	if c.Key != nil {
		p.encodeKey = beam.NewElementEncoder(c.Key.T).Encode
	}
	p.fields = p.row.opaqueType()
	p.encode, err = coder.RowEncoderForStruct(p.fields)
	return p, err
}

// pack gives the value for a row and its key, until the next one.
func (p *opaquePacker) pack(key any, row reflect.Value) ([]byte, error) {
	p.packed.Reset()
	if err := p.encodeKey(key, &p.packed); err != nil {
		return nil, fmt.Errorf("encoding the key of a %v: %w", p.row.row, err)
	}
	if err := p.encode(pick(row, p.row.opaque, p.fields).Interface(), &p.packed); err != nil {
		return nil, fmt.Errorf("encoding the opaque fields of a %v: %w", p.row.row, err)
	}
	return p.packed.Bytes(), nil
}

// opaqueUnpacker reads the values of the opaque column.
type opaqueUnpacker struct {
	target    reflect.Type
	fields    []placement
	decodeKey func(io.Reader) (any, error)
	decode    func(io.Reader) (any, error)
}

// newOpaqueUnpacker reads into rows of the type target.
func newOpaqueUnpacker(c carriage, target reflect.Type) (*opaqueUnpacker, error) {
	row, err := shapeOf(c.Row.T)
	if err != nil {
		return nil, err
	}
	u := &opaqueUnpacker{target: target, decodeKey: func(io.Reader) (any, error) { return nil, nil }}
	if c.Key != nil {
		u.decodeKey = beam.NewElementDecoder(c.Key.T).Decode
	}
	u.fields = placements(row.opaqueType(), target)
	u.decode, err = coder.RowDecoderForStruct(row.opaqueType())
	return u, err
}

// unpack gives the key, and puts the fields into a row.
func (u *opaqueUnpacker) unpack(packed []byte, row reflect.Value) (key any, err error) {
	from := bytes.NewReader(packed)
	if key, err = u.decodeKey(from); err != nil {
		return nil, fmt.Errorf("decoding the key of a %v: %w", u.target, err)
	}
	fields, err := u.decode(from)
	if err != nil {
		return nil, fmt.Errorf("decoding the opaque fields of a %v: %w", u.target, err)
	}
	move(u.fields, reflect.ValueOf(fields), row)
	return key, nil
}

// pick copies the named fields of from to the first fields of a new struct.
func pick(from reflect.Value, fields []reflect.StructField, into reflect.Type) reflect.Value {
	picked := reflect.New(into).Elem()
	for i, field := range fields {
		picked.Field(i).Set(from.FieldByIndex(field.Index))
	}
	return picked
}

// placement is the index of a field in one struct and in another.
type placement struct{ from, to int }

// placements finds the fields that two structs share.
func placements(from, to reflect.Type) []placement {
	places := map[string]int{}
	for i, field := range structFields(to) {
		if field.IsExported() {
			places[columns.FieldName(field)] = i
		}
	}
	var shared []placement
	for i, field := range structFields(from) {
		if place, ok := places[columns.FieldName(field)]; ok {
			shared = append(shared, placement{i, place})
		}
	}
	return shared
}

func move(places []placement, from, to reflect.Value) {
	for _, place := range places {
		to.Field(place.to).Set(from.Field(place.from))
	}
}
