package ensemble

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
)

// packer converts rows to their wire type.
type packer struct {
	shape     shape
	wire      reflect.Type
	opaque    reflect.Type
	encodeKey func(any, io.Writer) error
	encode    func(any, io.Writer) error
}

func (p *packer) init(c carriage) (err error) {
	if p.shape, err = shapeOf(c.Row.T); err != nil {
		return err
	}
	if p.wire, err = c.wireType(); err != nil {
		return err
	}
	p.encodeKey = func(any, io.Writer) error { return nil }
	if c.Key != nil {
		p.encodeKey = beam.NewElementEncoder(c.Key.T).Encode
	}
	p.opaque = p.shape.opaqueType()
	p.encode, err = coder.RowEncoderForStruct(p.opaque)
	return err
}

func (p *packer) pack(key, row any) (any, error) {
	from := reflect.Indirect(reflect.ValueOf(row))
	opaque := pick(from, p.shape.opaque, p.opaque)
	var buf bytes.Buffer
	if err := p.encodeKey(key, &buf); err != nil {
		return nil, fmt.Errorf("encoding the key of a %v: %w", p.shape.row, err)
	}
	if err := p.encode(opaque.Interface(), &buf); err != nil {
		return nil, fmt.Errorf("encoding the opaque fields of a %v: %w", p.shape.row, err)
	}
	wire := pick(from, p.shape.columns, p.wire)
	wire.Field(len(p.shape.columns)).SetBytes(buf.Bytes())
	return wire.Interface(), nil
}

// pick copies the named fields of from to the first fields of a new struct.
func pick(from reflect.Value, fields []reflect.StructField, into reflect.Type) reflect.Value {
	picked := reflect.New(into).Elem()
	for i, field := range fields {
		picked.Field(i).Set(from.FieldByIndex(field.Index))
	}
	return picked
}

// unpacker converts rows of the wire type back.
type unpacker struct {
	target    reflect.Type
	failed    bool
	row       restorer
	decodeKey func(io.Reader) (any, error)
	decode    func(io.Reader) (any, error)
}

func (u *unpacker) init(c carriage) error {
	shape, err := shapeOf(c.Row.T)
	if err != nil {
		return err
	}
	wire, err := c.wireType()
	if err != nil {
		return err
	}
	u.decodeKey = func(io.Reader) (any, error) { return nil, nil }
	if c.Key != nil {
		u.decodeKey = beam.NewElementDecoder(c.Key.T).Decode
	}
	if u.decode, err = coder.RowDecoderForStruct(shape.opaqueType()); err != nil {
		return err
	}
	u.target, u.failed = c.Target.T, c.Failed
	if u.failed {
		u.row = newRestorer(c.Row.T, wire.Field(0).Type, shape.opaqueType())
	} else {
		u.row = newRestorer(u.target, wire, shape.opaqueType())
	}
	return nil
}

func (u *unpacker) unpack(columns any) (key, row any, err error) {
	wire := reflect.ValueOf(columns)
	if !u.failed {
		key, restored, err := u.restore(wire)
		return key, restored.Interface(), err
	}
	key, element, err := u.restore(wire.Field(0))
	failed := reflect.New(u.target).Elem()
	if failed.Field(0).Kind() == reflect.Pointer {
		element = element.Addr()
	}
	failed.Field(0).Set(element)
	for i := 1; i < failed.NumField(); i++ {
		failed.Field(i).Set(wire.Field(i))
	}
	return key, failed.Interface(), err
}

// restore makes a row from its columns, and gives the key that it had.
func (u *unpacker) restore(columns reflect.Value) (key any, row reflect.Value, err error) {
	row = reflect.New(u.row.target).Elem()
	move(u.row.columns, columns, row)
	if u.row.bytes < 0 {
		return nil, row, nil
	}
	packed := bytes.NewReader(columns.Field(u.row.bytes).Bytes())
	if key, err = u.decodeKey(packed); err != nil {
		return nil, row, fmt.Errorf("decoding the key of a %v: %w", u.row.target, err)
	}
	opaque, err := u.decode(packed)
	if err != nil {
		return nil, row, fmt.Errorf("decoding the opaque fields of a %v: %w", u.row.target, err)
	}
	move(u.row.opaque, reflect.ValueOf(opaque), row)
	return key, row, nil
}

// restorer says which field of a row comes from where.
type restorer struct {
	target reflect.Type
	// columns and opaque say what goes where from the columns, and from the
	// opaque struct.
	columns, opaque []placement
	// bytes is the place of the opaque column, -1 where there is none.
	bytes int
}

func newRestorer(target, columns, opaque reflect.Type) restorer {
	r := restorer{target: target, bytes: -1}
	places := map[string]int{}
	for i, field := range structFields(target) {
		if field.IsExported() {
			places[fieldName(field)] = i
		}
	}
	for i, field := range structFields(columns) {
		if fieldName(field) == opaqueColumn {
			r.bytes = i
		} else {
			r.columns = append(r.columns, placement{i, places[fieldName(field)]})
		}
	}
	for i, field := range structFields(opaque) {
		if place, ok := places[fieldName(field)]; ok {
			r.opaque = append(r.opaque, placement{i, place})
		}
	}
	return r
}

// placement is the index of a field in one struct and in another.
type placement struct{ from, to int }

func move(places []placement, from, to reflect.Value) {
	for _, place := range places {
		to.Field(place.to).Set(from.Field(place.from))
	}
}
