package ensemble

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/xlangx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"google.golang.org/protobuf/proto"
)

// crossing is the way of one collection to the service's transform and back.
type crossing struct {
	encoding Encoding
	// row says which fields the rows have.
	row shape
	// input is the struct type of what the Arrow batches hold, nil where there
	// are none.
	input reflect.Type
	// output and errors are the struct types that the service's outputs are
	// decoded to; errors is nil where there is no such output.
	output, errors reflect.Type
	// opaque names the types of the fields in the opaque column.
	opaque map[string]string
	// packs says that there is an opaque column.
	packs bool

	// carriage is set where the rows cannot cross as they are.
	carriage *carriage
	// scored and failed are the struct types that the caller gets.
	scored, failed reflect.Type
}

// newCrossing works out how rows cross, and whether their answers can be
// decoded into scored. Wanted is empty where the caller leaves the encoding
// open.
func newCrossing(
	rows beam.PCollection, scored reflect.Type, withErrors bool, wanted Encoding,
) (*crossing, error) {
	key, element, err := elementsOf(rows)
	if err != nil {
		return nil, err
	}
	row, err := shapeOf(structOf(element))
	if err != nil {
		return nil, err
	}
	if scored.Kind() != reflect.Struct {
		return nil, fmt.Errorf("ensemble: scored rows are structs, not %v", scored)
	}
	answer, err := shapeOf(scored)
	if err != nil {
		return nil, err
	}
	if err := checkScored(answer, row); err != nil {
		return nil, err
	}
	x := &crossing{row: row, output: scored, scored: scored, opaque: row.opaqueTypes()}
	if withErrors {
		if x.failed, err = failedType(element); err != nil {
			return nil, err
		}
		x.errors = x.failed
	}
	if x.encoding, err = chooseEncoding(wanted, rows, row.row, scored, key); err != nil {
		return nil, err
	}
	switch {
	case x.encoding == EncodingArrow:
		x.batch(row, answer, key)
	case key != nil || !row.direct() || !answer.direct():
		err = x.carry(row, answer, key)
	}
	return x, err
}

// batch has rows cross in Arrow batches.
func (x *crossing) batch(row, answer shape, key reflect.Type) {
	x.carriage = newCarriage(row.row, key)
	x.packs = x.carriage.packs(row)
	x.input = row.arrowType(x.packs)
	x.output = answer.arrowType(x.carriage.packs(answer))
	if x.failed != nil {
		x.errors = failedWire(x.failed, x.input)
	}
}

// carry changes the crossing of rows that cannot cross as they are.
func (x *crossing) carry(row, answer shape, key reflect.Type) (err error) {
	if err := requireRegistered(row.row, x.scored, key); err != nil {
		return err
	}
	x.carriage, x.packs = newCarriage(row.row, key), true
	if _, err = x.carriage.announce(); err != nil {
		return err
	}
	if key != nil || !answer.direct() {
		if x.output, err = x.carriage.back(x.scored, false).announce(); err != nil {
			return err
		}
	}
	if x.failed != nil {
		x.errors, err = x.carriage.back(x.failed, true).announce()
	}
	return err
}

// passThrough gives, of the fields that the caller keeps, those that the
// service knows, and the opaque column for the others.
func (x *crossing) passThrough(fields []string) []string {
	if fields == nil || !x.packs {
		return fields
	}
	known := slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return x.opaque[name] != "" })
	return append(known, opaqueColumn)
}

// expand applies the service's transform.
func (x *crossing) expand(
	call startedCall, s beam.Scope, rows beam.PCollection, service endpoint, payload []byte,
) (scored, failed beam.PCollection, err error) {
	if rows, err = x.pack(s, rows); err != nil {
		return scored, failed, err
	}
	outputs := map[string]beam.FullType{outputTag: typex.New(x.elements(x.output))}
	if x.errors != nil {
		outputs[errorsTag] = typex.New(x.elements(x.errors))
	}
	name := service.register()
	defer expansions.start(name, call)()
	addr := xlangx.Require(expansionHandler + xlangx.Separator + name)
	got, err := beam.TryCrossLanguage(s, transformURN, payload, addr, beam.UnnamedInput(rows), outputs)
	if err != nil {
		var refused *Error
		if errors.As(err, &refused) {
			x.row.explain(refused)
		}
		return scored, failed, err
	}
	scored = x.unpack(s, got[outputTag], x.output, x.scored)
	if x.errors != nil {
		failed = x.unpack(s, got[errorsTag], x.errors, x.failed)
	}
	return scored, failed, nil
}

// elements is the type of what crosses for rows of a type.
func (x *crossing) elements(row reflect.Type) reflect.Type {
	if x.encoding == EncodingArrow {
		return reflectx.ByteSlice
	}
	return row
}

// pack makes the rows such that they can cross.
func (x *crossing) pack(s beam.Scope, rows beam.PCollection) (beam.PCollection, error) {
	switch {
	case x.carriage == nil:
		return rows, nil
	case x.encoding == EncodingArrow && x.carriage.Key != nil:
		return beam.ParDo(s, &batchKeyedFn{Carriage: *x.carriage}, rows), nil
	case x.encoding == EncodingArrow:
		return beam.ParDo(s, &batchFn{Carriage: *x.carriage}, rows), nil
	}
	wire, err := x.carriage.wireType()
	if err != nil {
		return rows, err
	}
	if x.carriage.Key != nil {
		fn := &packKeyedFn{Carriage: *x.carriage}
		return beam.ParDo(s, fn, rows, beam.TypeDefinition{Var: beam.ZType, T: wire}), nil
	}
	fn := &packFn{Carriage: *x.carriage}
	return beam.ParDo(s, fn, rows, beam.TypeDefinition{Var: beam.YType, T: wire}), nil
}

// unpack makes rows of type target from what the service's transform gives,
// which is decoded to wire.
func (x *crossing) unpack(s beam.Scope, rows beam.PCollection, wire, target reflect.Type) beam.PCollection {
	if wire == target && x.encoding == EncodingRows {
		return rows
	}
	back := x.carriage.back(target, target == x.failed)
	var fn, keyedFn any = &unpackFn{Carriage: back}, &unpackKeyedFn{Carriage: back}
	if x.encoding == EncodingArrow {
		fn, keyedFn = &unbatchFn{Carriage: back}, &unbatchKeyedFn{Carriage: back}
	}
	if back.Key == nil {
		return beam.ParDo(s, fn, rows, beam.TypeDefinition{Var: beam.YType, T: target})
	}
	return beam.ParDo(s, keyedFn, rows,
		beam.TypeDefinition{Var: beam.YType, T: back.Key.T}, beam.TypeDefinition{Var: beam.ZType, T: target})
}

// elementsOf gives the type of the rows of a collection, and that of their
// keys where they have any.
func elementsOf(rows beam.PCollection) (key, element reflect.Type, err error) {
	if !rows.IsValid() {
		return nil, nil, errors.New("ensemble: the rows are not a PCollection of a pipeline")
	}
	values := rows.Type()
	if typex.IsKV(values) {
		pair := values.Components()
		key, values = pair[0].Type(), pair[1]
		if pair[0].Class() != typex.Concrete && pair[0].Class() != typex.Container {
			return nil, nil, fmt.Errorf("ensemble: keys of the type %v cannot be carried", pair[0])
		}
	}
	element = values.Type()
	// Beam's own types, such as the groups of a GroupByKey, are structs in Go, too.
	if values.Class() != typex.Concrete || structOf(element).Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("ensemble: rows are structs, or KV pairs with structs as values, not %v", rows.Type())
	}
	return key, element, nil
}

// structOf is t, or the type that it points to.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// requireRegistered makes sure that workers find types by their names.
func requireRegistered(types ...reflect.Type) error {
	for _, t := range types {
		if t == nil {
			continue
		}
		t = structOf(t)
		name, named := runtime.TypeKey(t)
		switch found, registered := runtime.LookupType(name); {
		case !named || found == t:
		case registered:
			return fmt.Errorf("ensemble: the type %[1]v is not registered, but another type called %[1]v is; "+
				"rename one of them, and register both", t)
		default:
			return fmt.Errorf("ensemble: the type %[1]v is not registered; "+
				"add beam.RegisterType(reflect.TypeFor[%[1]v]()) to an init function", t)
		}
	}
	return nil
}

// marshalSchema writes the schema of the bytes that t is decoded from.
func marshalSchema(t reflect.Type) ([]byte, error) {
	wire, err := wireSchema(t)
	if err != nil {
		return nil, fmt.Errorf("ensemble: %v: %w", t, err)
	}
	return proto.Marshal(wire)
}
