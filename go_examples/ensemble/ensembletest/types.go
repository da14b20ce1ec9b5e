package ensembletest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// columnType is a type of ensemble files.
type columnType struct {
	// kind is "array", "map", "row", or the name of a scalar.
	kind     string
	nullable bool
	// of are the types of what it is made of: an array's items, a map's keys and
	// values, a row's fields.
	of []columnType
	// names are those of a row's fields.
	names []string
	// length is the number of an array's items, 0 where any will do.
	length int
}

const (
	arrayKind = "array"
	mapKind   = "map"
	rowKind   = "row"
)

func (t columnType) String() string {
	text := t.kind
	switch t.kind {
	case arrayKind, mapKind:
		parts := make([]string, len(t.of))
		for i, part := range t.of {
			parts[i] = part.String()
		}
		text += "<" + strings.Join(parts, ",") + ">"
		if t.length > 0 {
			text += "[" + strconv.Itoa(t.length) + "]"
		}
	case rowKind:
		fields := make([]string, len(t.of))
		for i, field := range t.of {
			fields[i] = t.names[i] + ": " + field.String()
		}
		text += "<" + strings.Join(fields, ", ") + ">"
	}
	if t.nullable {
		text += "?"
	}
	return text
}

// scalars are the types of ensemble files by the kinds of Go.
var scalars = map[reflect.Kind]string{
	reflect.Bool: "boolean", reflect.String: "string", reflect.Float32: "float", reflect.Float64: "double",
	reflect.Int8: "int32", reflect.Int16: "int32", reflect.Int32: "int32", reflect.Uint8: "int32", reflect.Uint16: "int32",
	reflect.Int64: "int64", reflect.Int: "int64", reflect.Uint32: "int64",
}

// typeOf returns the type of the columns that hold values of a Go type, and
// whether there is one. A slice or map may be nil, which says nothing about
// whether the column has nulls: only a pointer does.
func typeOf(t reflect.Type) (columnType, bool) { return typeWith(t, false) }

// fieldType returns the type of a field as the rows of a pipeline have it: a
// slice or map takes nulls, which are nil.
func fieldType(t reflect.Type) columnType {
	found, _ := typeWith(t, true)
	found.nullable = found.nullable || canBeNil(t)
	return found
}

// typeWith is typeOf; nilIsNull says that slices and maps in fields take nulls.
func typeWith(t reflect.Type, nilIsNull bool) (columnType, bool) {
	if t == reflect.TypeFor[time.Time]() {
		return columnType{kind: "timestamp"}, true
	}
	if name, ok := scalars[t.Kind()]; ok {
		return columnType{kind: name}, true
	}
	switch t.Kind() {
	case reflect.Pointer:
		found, ok := typeWith(t.Elem(), nilIsNull)
		ok = ok && !found.nullable
		found.nullable = true
		return found, ok
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return columnType{kind: "bytes"}, true
		}
		item, ok := typeWith(t.Elem(), nilIsNull)
		return columnType{kind: arrayKind, of: []columnType{item}}, ok
	case reflect.Array:
		item, ok := typeWith(t.Elem(), nilIsNull)
		return columnType{kind: arrayKind, of: []columnType{item}, length: t.Len()}, ok && t.Elem().Kind() != reflect.Uint8
	case reflect.Map:
		key, keyed := typeWith(t.Key(), nilIsNull)
		value, ok := typeWith(t.Elem(), nilIsNull)
		return columnType{kind: mapKind, of: []columnType{key, value}}, keyed && ok
	case reflect.Struct:
		row := columnType{kind: rowKind}
		for i := range t.NumField() {
			field, ok := typeWith(t.Field(i).Type, nilIsNull)
			field.nullable = field.nullable || nilIsNull && canBeNil(t.Field(i).Type)
			if !ok || !t.Field(i).IsExported() {
				return row, false
			}
			row.of, row.names = append(row.of, field), append(row.names, columns.FieldName(t.Field(i)))
		}
		return row, true
	}
	return columnType{}, false
}

// wider are the scalars that hold all values of a scalar.
var wider = map[string][]string{"int32": {"int64", "double"}, "int64": {"double"}, "float": {"double"}}

// numbers are the types of numbers.
var numbers = []string{"int32", "int64", "float", "double"}

// feeds reports whether values of the type found may stand where wanted is
// declared. Nulls and lengths are left to the rows.
func feeds(found, wanted columnType) bool {
	if found.kind != wanted.kind {
		return slices.Contains(wider[found.kind], wanted.kind)
	}
	found = found.inOrderOf(wanted)
	return slices.Equal(found.names, wanted.names) && slices.EqualFunc(found.of, wanted.of, feeds)
}

// inOrderOf returns the type of rows with its fields in the order of another's.
func (t columnType) inOrderOf(other columnType) columnType {
	ordered := t
	ordered.names, ordered.of = nil, nil
	for _, name := range other.names {
		at := slices.Index(t.names, name)
		if at < 0 {
			return t
		}
		ordered.names, ordered.of = append(ordered.names, name), append(ordered.of, t.of[at])
	}
	if len(ordered.names) < len(t.names) || t.kind != rowKind {
		return t
	}
	return ordered
}

// fits reports whether a field of the type wanted can be decoded from what is
// made: the same, or null allowed in addition. Rows that the ensemble adds are
// written with their fields in the order of those wanted.
func fits(made, wanted columnType, added bool) bool {
	if made.kind != wanted.kind || made.nullable && !wanted.nullable {
		return false
	}
	isRow := made.kind == rowKind
	if isRow && added {
		made = made.inOrderOf(wanted)
	}
	return slices.Equal(made.names, wanted.names) && slices.EqualFunc(made.of, wanted.of, func(a, b columnType) bool {
		return (isRow || a.nullable == b.nullable) && fits(a, b, added)
	})
}

// parseType reads a type as ensemble files write it, such as "array<double>[8,8]".
func parseType(text string) (columnType, error) {
	p := typeParser{rest: text}
	found, ok := p.parse()
	if p.space(); !ok || p.rest != "" {
		return found, fmt.Errorf("%q is not a type of ensemble files", text)
	}
	return found, nil
}

// typeParser reads a type from the beginning of a text.
type typeParser struct{ rest string }

func (p *typeParser) space() { p.rest = strings.TrimLeft(p.rest, " ") }

func (p *typeParser) take(token string) bool {
	p.space()
	rest, found := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return found
}

func (p *typeParser) word() string {
	p.space()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func (p *typeParser) parse() (found columnType, ok bool) {
	switch found.kind = p.word(); found.kind {
	case "":
		return found, false
	case arrayKind:
		ok = p.parts(&found, 1) && p.shape(&found)
	case mapKind:
		ok = p.parts(&found, 2)
	case rowKind:
		ok = p.fields(&found)
	default:
		ok = true
	}
	found.nullable = p.take("?")
	return found, ok
}

func (p *typeParser) parts(into *columnType, count int) bool {
	for i := range count {
		if !p.take([]string{"<", ","}[i]) {
			return false
		}
		part, ok := p.parse()
		if !ok {
			return false
		}
		into.of = append(into.of, part)
	}
	return p.take(">")
}

func (p *typeParser) shape(into *columnType) bool {
	if !p.take("[") {
		return true
	}
	into.length = 1
	for {
		size, err := strconv.Atoi(p.word())
		if err != nil {
			return false
		}
		into.length *= size
		if !p.take(",") {
			return p.take("]")
		}
	}
}

func (p *typeParser) fields(into *columnType) bool {
	if !p.take("<") {
		return false
	}
	for {
		name := p.word()
		if !p.take(":") {
			return false
		}
		field, ok := p.parse()
		if !ok {
			return false
		}
		into.names, into.of = append(into.names, name), append(into.of, field)
		if !p.take(",") {
			return p.take(">")
		}
	}
}
