package ensemble

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

func init() {
	registerStep(func(f *packFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": packCall{direct(f.ProcessElement)}}
	})
	registerStep(func(f *packKeyedFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": packKeyedCall{direct(f.ProcessElement)}}
	})
	registerStep(func(f *unpackFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": packCall{direct(f.ProcessElement)}}
	})
	registerStep(func(f *unpackKeyedFn) methods {
		return methods{"Setup": reflectx.MakeFunc(f.Setup), "ProcessElement": unpackKeyedCall{direct(f.ProcessElement)}}
	})
}

// packFn turns a row into its columns and the opaque column.
type packFn struct {
	Carriage carriage

	packer packer
}

// Setup prepares the conversion.
func (f *packFn) Setup() error { return f.packer.init(f.Carriage) }

// ProcessElement converts one row.
func (f *packFn) ProcessElement(row beam.X) (beam.Y, error) { return f.packer.pack(nil, row) }

// packKeyedFn does the same for keyed rows; the key travels in the opaque
// column.
type packKeyedFn struct {
	Carriage carriage

	packer packer
}

// Setup prepares the conversion.
func (f *packKeyedFn) Setup() error { return f.packer.init(f.Carriage) }

// ProcessElement converts one row and its key.
func (f *packKeyedFn) ProcessElement(key beam.X, row beam.Y) (beam.Z, error) {
	return f.packer.pack(key, row)
}

// unpackFn turns columns back into a struct: a scored row, or a Failed one.
type unpackFn struct {
	Carriage carriage

	unpacker unpacker
}

// Setup prepares the conversion.
func (f *unpackFn) Setup() error { return f.unpacker.init(f.Carriage) }

// ProcessElement converts one row.
func (f *unpackFn) ProcessElement(columns beam.X) (beam.Y, error) {
	_, row, err := f.unpacker.unpack(columns)
	return row, err
}

// unpackKeyedFn does the same for keyed rows.
type unpackKeyedFn struct {
	Carriage carriage

	unpacker unpacker
}

// Setup prepares the conversion.
func (f *unpackKeyedFn) Setup() error { return f.unpacker.init(f.Carriage) }

// ProcessElement converts one row and gives its key back.
func (f *unpackKeyedFn) ProcessElement(columns beam.X) (beam.Y, beam.Z, error) {
	return f.unpacker.unpack(columns)
}
