package ensemble

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// shape says how the rows of a struct type cross to another language: which
// fields are columns there, and which travel in the opaque column.
type shape struct {
	// row is the struct type itself.
	row reflect.Type
	// columns are the fields that other languages can read.
	columns []reflect.StructField
	// opaque are the exported fields that they cannot.
	opaque []reflect.StructField
	// unexported are the fields that Beam does not carry, but counts.
	unexported []reflect.StructField
}

// shapeOf sorts the fields of row, a struct type.
func shapeOf(row reflect.Type) (shape, error) {
	s := shape{row: row}
	if err := checkNames(row); err != nil {
		return shape{}, fmt.Errorf("ensemble: %w", err)
	}
	for _, field := range structFields(row) {
		if !field.IsExported() {
			s.unexported = append(s.unexported, field)
			continue
		}
		_, err := wireType(field.Type)
		switch {
		case err == nil:
			s.columns = append(s.columns, field)
		case errors.Is(err, errOpaque):
			s.opaque = append(s.opaque, field)
		default:
			return shape{}, fmt.Errorf("ensemble: field %s of %v cannot be encoded: %w", field.Name, row, err)
		}
	}
	return s, nil
}

// checkNames reports two fields of a struct type that have one name in rows.
func checkNames(row reflect.Type) error {
	first := map[string]string{}
	for _, field := range structFields(row) {
		if !field.IsExported() {
			continue
		}
		name := columns.FieldName(field)
		if other, taken := first[name]; taken {
			return fmt.Errorf("the fields %s and %s of %v are both called %q in rows", other, field.Name, row, name)
		}
		first[name] = field.Name
	}
	return nil
}

// direct says that rows can cross as they are, with Beam's own coder.
func (s shape) direct() bool {
	return len(s.opaque) == 0 && len(s.unexported) == 0 && coder.LookupCustomCoder(s.row) == nil
}

// columnsType is the struct type of the columns and, where withOpaque says so,
// the opaque column at its end.
func (s shape) columnsType(withOpaque bool) reflect.Type {
	fields := bare(s.columns)
	if withOpaque {
		fields = append(fields, reflect.StructField{
			Name: "Opaque__",
			Type: reflect.TypeFor[[]byte](),
			Tag:  reflect.StructTag(fmt.Sprintf("beam:%q", opaqueColumn)),
		})
	}
	return reflect.StructOf(fields)
}

// arrowType is the struct type of what an Arrow batch has of the rows: the row
// itself, where that has neither more nor less.
func (s shape) arrowType(withOpaque bool) reflect.Type {
	if s.direct() && !withOpaque {
		return s.row
	}
	return s.columnsType(withOpaque)
}

// opaqueType is the struct type of the opaque fields.
func (s shape) opaqueType() reflect.Type { return reflect.StructOf(bare(s.opaque)) }

// opaqueTypes names the types of the opaque fields, for the service's errors.
func (s shape) opaqueTypes() map[string]string {
	names := make(map[string]string, len(s.opaque))
	for _, field := range s.opaque {
		names[columns.FieldName(field)] = field.Type.String()
	}
	return names
}

// field finds a field by the name that it has in rows.
func (s shape) field(name string) (reflect.StructField, bool) {
	for _, field := range structFields(s.row) {
		if field.IsExported() && columns.FieldName(field) == name {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

// bare keeps of each field what makes a new struct type: its name in rows
// stays, embedding does not.
func bare(fields []reflect.StructField) []reflect.StructField {
	kept := make([]reflect.StructField, len(fields))
	for i, field := range fields {
		kept[i] = reflect.StructField{Name: field.Name, Type: field.Type, Tag: field.Tag}
	}
	return kept
}

// checkScored reports the first field of scored that nothing can fill: one of
// a type that no column has, unless the very same field is in the row.
func checkScored(scored, row shape) error {
	for _, field := range structFields(scored.row) {
		kept, found := row.field(columns.FieldName(field))
		switch {
		case !field.IsExported() && field.Tag.Get("beam") != "":
			return failure("ensemble: field %s of %v has the tag beam:%q but is unexported, so nothing can fill it; "+
				"rename it to %s, or take the tag away",
				field.Name, scored.row, field.Tag.Get("beam"), exportedName(field.Name))
		case !field.IsExported(), found && kept.Type == field.Type:
		case found && !isWireType(kept.Type):
			return fmt.Errorf("ensemble: field %s of %v has the type %v, but that of %v has the type %v",
				field.Name, scored.row, field.Type, row.row, kept.Type)
		case !isColumnType(field.Type):
			return fmt.Errorf("ensemble: field %s of %v has the type %v, which no column of an ensemble has; "+
				"see the table of types of ensemble.Run",
				field.Name, scored.row, field.Type)
		}
	}
	return nil
}

// exportedName is what an unexported field may be renamed to.
func exportedName(name string) string {
	if name = strings.TrimLeft(name, "_"); name == "" {
		return "an exported name"
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// explain adds to the service's error what only this client knows: that a field
// which the rows lack is there, but unexported.
func (s shape) explain(refused *Error) {
	for _, problem := range refused.Problems {
		name, ofInput := strings.CutPrefix(problem.Path, "input.")
		if !ofInput || problem.Code != CodeMissingField {
			continue
		}
		for _, field := range s.unexported {
			if columns.FieldName(field) == name {
				refused.text += fmt.Sprintf("\nThe field %s of %v is unexported, so Beam does not encode it: "+
					"rename it to %s with the tag beam:%q.", field.Name, s.row, exportedName(field.Name), name)
			}
		}
	}
}

func isWireType(t reflect.Type) bool {
	_, err := wireType(t)
	return err == nil
}

// isColumnType says that a column of an ensemble may be decoded into t without
// losing anything.
func isColumnType(t reflect.Type) bool {
	if t == timeType {
		return true
	}
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return false // They would cut off what an int32 or int64 column holds.
	case reflect.Pointer, reflect.Array, reflect.Slice:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return true
		}
		return isColumnType(t.Elem())
	case reflect.Map:
		return isColumnType(t.Key()) && isColumnType(t.Elem())
	case reflect.Struct:
		for _, field := range structFields(t) {
			if !isColumnType(field.Type) {
				return false
			}
		}
	}
	return isWireType(t)
}
