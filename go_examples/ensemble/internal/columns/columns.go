// Package columns turns Go values into Arrow record batches and back, fast.
//
// A Writer or Reader is made once for a list of places: variables of the
// caller, each with the name of a column. To write a row the caller sets the
// variables and calls Add; to read one it calls Read and looks at them. As the
// variables stay where they are, all that reflection finds out is found out
// once, and a value of a plain type costs one copy per row.
//
// A batch is one element in a pipeline: an Arrow IPC stream of a schema and
// one record batch, without compression and dictionaries.
package columns

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Place is a column, and the variable that holds its value for the row at
// hand.
type Place struct {
	// Name is that of the column.
	Name string
	// At is the variable: an addressable value.
	At reflect.Value
	// Required says that the column never holds null. Otherwise a nil slice,
	// map or pointer is null.
	Required bool
	// Fields are set, instead of At, for a column of rows whose fields are
	// places of their own.
	Fields []Place
}

// Of are the places of the fields of the struct that at holds.
func Of(at reflect.Value) []Place {
	places := make([]Place, at.NumField())
	for i := range places {
		places[i] = Place{Name: FieldName(at.Type().Field(i)), At: at.Field(i)}
	}
	return places
}

// nullable says whether the column has nulls.
func (p Place) nullable() bool {
	if p.Required || p.Fields != nil {
		return false
	}
	switch p.At.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// field describes the column.
func (p Place) field(t arrow.DataType) arrow.Field {
	return arrow.Field{Name: p.Name, Type: t, Nullable: p.nullable()}
}

// element is the place of what a list or a map holds, at a variable of the
// package's own. Only pointers are null there.
func element(name string, t reflect.Type) Place {
	return Place{Name: name, At: reflect.New(t).Elem(), Required: t.Kind() != reflect.Pointer}
}

// FieldName is the name of the column that a struct's field makes: that of its
// beam tag, or its own.
func FieldName(field reflect.StructField) string {
	if name, _, _ := strings.Cut(field.Tag.Get("beam"), ","); name != "" {
		return name
	}
	return field.Name
}

// variable gives the variable at a value as one of a type that is the same but
// for its name.
func variable[T any](at reflect.Value) *T {
	return at.Addr().Convert(reflect.TypeFor[*T]()).Interface().(*T)
}

// noColumn is the error of a place whose type no column has.
func noColumn(p Place) error {
	return fmt.Errorf("no column holds values of the type %v, which %q has", p.At.Type(), p.Name)
}
