package ensemble

import (
	"bytes"
	"reflect"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// packer converts rows to their wire type.
type packer struct {
	wire   reflect.Type
	opaque *opaquePacker
}

func (p *packer) init(c carriage) (err error) {
	if p.opaque, err = newOpaquePacker(c); err != nil {
		return err
	}
	p.wire, err = c.wireType()
	return err
}

func (p *packer) pack(key, row any) (any, error) {
	from := reflect.Indirect(reflect.ValueOf(row))
	packed, err := p.opaque.pack(key, from)
	if err != nil {
		return nil, err
	}
	wire := pick(from, p.opaque.row.columns, p.wire)
	wire.Field(wire.NumField() - 1).SetBytes(bytes.Clone(packed))
	return wire.Interface(), nil
}

// unpacker converts rows of the wire type back.
type unpacker struct {
	target reflect.Type
	failed bool
	// row is the type of what is restored: the target, or the row in a Failed.
	row     reflect.Type
	columns []placement
	// bytes is the place of the opaque column, -1 where there is none.
	bytes  int
	opaque *opaqueUnpacker
}

func (u *unpacker) init(c carriage) error {
	wire, err := c.wireType()
	if err != nil {
		return err
	}
	u.target, u.failed = c.Target.T, c.Failed
	u.row = u.target
	if u.failed {
		u.row, wire = c.Row.T, wire.Field(0).Type
	}
	u.columns = placements(wire, u.row)
	u.bytes = -1
	for i, field := range structFields(wire) {
		if columns.FieldName(field) == opaqueColumn {
			u.bytes = i
		}
	}
	u.opaque, err = newOpaqueUnpacker(c, u.row)
	return err
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
	row = reflect.New(u.row).Elem()
	move(u.columns, columns, row)
	if u.bytes >= 0 {
		key, err = u.opaque.unpack(columns.Field(u.bytes).Bytes(), row)
	}
	return key, row, err
}
