package ensemble

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/schema"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// opaqueColumn carries what other languages cannot read: see opaque.go.
const opaqueColumn = "__opaque"

// goLogicalOption marks the schema of a type that Beam knows as a logical
// type: its representation means something to Go only.
const goLogicalOption = "beam:schema:go:logical:v1"

// timeURN is the logical type that Beam for Go makes of a time.Time: a row of
// one text. The service knows it.
const timeURN = "time.Time"

// uint8URN tells the service that bytes have no sign, unlike Beam's BYTE.
const uint8URN = "uint8"

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// errOpaque is the reason why a type cannot cross: nothing on the other side
// reads it. Its fields travel in the opaque column.
var errOpaque = errors.New("has no counterpart in other languages")

// wireAtomics says what Beam's Go coder writes for a kind of value. The
// schemas that Beam infers say something else for most integers (logical types
// of its own, or INT16, which other languages read as two bytes).
//
// uint and uint64 are not here: their upper half would be read as negative.
var wireAtomics = map[reflect.Kind]pipepb.AtomicType{
	reflect.Bool:    pipepb.AtomicType_BOOLEAN,
	reflect.Int8:    pipepb.AtomicType_INT32,
	reflect.Int16:   pipepb.AtomicType_INT32,
	reflect.Int32:   pipepb.AtomicType_INT32,
	reflect.Uint16:  pipepb.AtomicType_INT32,
	reflect.Uint32:  pipepb.AtomicType_INT64,
	reflect.Int64:   pipepb.AtomicType_INT64,
	reflect.Int:     pipepb.AtomicType_INT64,
	reflect.Float32: pipepb.AtomicType_FLOAT,
	reflect.Float64: pipepb.AtomicType_DOUBLE,
	reflect.String:  pipepb.AtomicType_STRING,
}

// wireSchema describes the bytes that Beam's Go coder writes for a struct type
// or a pointer to one, with the id by which Go finds the type again. Slices
// and maps are nullable in it: Go writes a nil one as null.
//
// It fails with errOpaque where those bytes mean nothing to other languages.
func wireSchema(t reflect.Type) (*pipepb.Schema, error) {
	inferred, err := schema.FromType(t)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	for _, option := range inferred.GetOptions() {
		if option.GetName() == goLogicalOption {
			return nil, errOpaque
		}
	}
	if err := checkNames(t); err != nil {
		return nil, err
	}
	wire := &pipepb.Schema{Id: inferred.GetId(), Options: inferred.GetOptions()}
	for _, field := range structFields(t) {
		if !field.IsExported() {
			return nil, errOpaque // Go counts the field in the row's header.
		}
		fieldType, err := wireFieldType(field)
		if err != nil {
			return nil, err
		}
		wire.Fields = append(wire.Fields, &pipepb.Field{Name: columns.FieldName(field), Type: fieldType})
	}
	return wire, nil
}

func wireFieldType(field reflect.StructField) (*pipepb.FieldType, error) {
	wire, err := wireType(field.Type)
	if err != nil {
		return nil, err
	}
	switch field.Type.Kind() {
	case reflect.Slice, reflect.Map:
		wire.Nullable = columns.FieldName(field) != opaqueColumn
	}
	return wire, nil
}

// wireType describes the bytes of a value of type t, or fails with errOpaque.
func wireType(t reflect.Type) (*pipepb.FieldType, error) {
	switch t {
	case timeType:
		return wireTime(), nil
	case durationType:
		return nil, errOpaque // An int64 to Go. Which unit a model was trained on, only the caller knows.
	}
	if atomic, ok := wireAtomics[t.Kind()]; ok {
		return atomicType(atomic), nil
	}
	switch t.Kind() {
	case reflect.Uint8:
		return logicalType(uint8URN, atomicType(pipepb.AtomicType_BYTE)), nil
	case reflect.Pointer:
		return wirePointer(t)
	case reflect.Slice, reflect.Array:
		return wireArray(t)
	case reflect.Map:
		return wireMap(t)
	case reflect.Struct:
		return wireRow(t)
	}
	return nil, errOpaque
}

func wirePointer(t reflect.Type) (*pipepb.FieldType, error) {
	if t.Elem().Kind() == reflect.Pointer {
		return nil, errOpaque // null is one thing in a schema, two in Go.
	}
	wire, err := wireType(t.Elem())
	if err != nil {
		return nil, err
	}
	wire.Nullable = true
	return wire, nil
}

func wireArray(t reflect.Type) (*pipepb.FieldType, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return atomicType(pipepb.AtomicType_BYTES), nil
	}
	if t.Elem().Kind() == reflect.Uint8 {
		return nil, errOpaque // Neither bytes nor a list of numbers, as one sees it.
	}
	element, err := wireType(t.Elem())
	if err != nil {
		return nil, err
	}
	array := &pipepb.ArrayType{ElementType: element}
	return &pipepb.FieldType{TypeInfo: &pipepb.FieldType_ArrayType{ArrayType: array}}, nil
}

func wireMap(t reflect.Type) (*pipepb.FieldType, error) {
	key, err := wireType(t.Key())
	if err != nil {
		return nil, err
	}
	value, err := wireType(t.Elem())
	if err != nil {
		return nil, err
	}
	if key.GetAtomicType() == pipepb.AtomicType_UNSPECIFIED || key.GetNullable() {
		return nil, errOpaque // Only plain values are keys in other languages.
	}
	mapType := &pipepb.MapType{KeyType: key, ValueType: value}
	return &pipepb.FieldType{TypeInfo: &pipepb.FieldType_MapType{MapType: mapType}}, nil
}

func wireRow(t reflect.Type) (*pipepb.FieldType, error) {
	wire, err := wireSchema(t)
	if err != nil {
		return nil, err
	}
	row := &pipepb.RowType{Schema: wire}
	return &pipepb.FieldType{TypeInfo: &pipepb.FieldType_RowType{RowType: row}}, nil
}

func wireTime() *pipepb.FieldType {
	text := &pipepb.Field{Name: columns.TimeField, Type: atomicType(pipepb.AtomicType_STRING)}
	row := &pipepb.RowType{Schema: &pipepb.Schema{Fields: []*pipepb.Field{text}}}
	return logicalType(timeURN, &pipepb.FieldType{TypeInfo: &pipepb.FieldType_RowType{RowType: row}})
}

func logicalType(urn string, representation *pipepb.FieldType) *pipepb.FieldType {
	logical := &pipepb.LogicalType{Urn: urn, Representation: representation}
	return &pipepb.FieldType{TypeInfo: &pipepb.FieldType_LogicalType{LogicalType: logical}}
}

func atomicType(atomic pipepb.AtomicType) *pipepb.FieldType {
	return &pipepb.FieldType{TypeInfo: &pipepb.FieldType_AtomicType{AtomicType: atomic}}
}

// structFields returns the fields of a struct type or a pointer to one.
func structFields(t reflect.Type) []reflect.StructField {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		fields[i] = t.Field(i)
	}
	return fields
}
