package ensembletest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// put sets a variable to a value whose column has a type that feeds or fits the
// variable's. It returns a Failure where this value does not.
func put(from, into reflect.Value, name string) error {
	switch {
	case from.Type() == into.Type():
		into.Set(from)
	case from.Kind() == reflect.Pointer && from.IsNil():
		if kind := into.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
			return isNull(name)
		}
		into.SetZero()
	case from.Kind() == reflect.Pointer:
		return put(from.Elem(), into, name)
	case into.Kind() == reflect.Pointer && isNil(from):
		into.SetZero()
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return put(from, into.Elem(), name)
	case into.Kind() == reflect.Array && from.Len() != into.Len():
		return wrongLength(name, from.Len(), into.Len())
	case into.Kind() == reflect.Slice || into.Kind() == reflect.Array:
		return putItems(from, into, name)
	case into.Kind() == reflect.Map:
		return putEntries(from, into, name)
	case into.Kind() == reflect.Struct:
		fields, _ := fieldsOf(from.Type())
		for i := range into.NumField() {
			field := fields[columns.FieldName(into.Type().Field(i))]
			if err := put(from.FieldByIndex(field.Index), into.Field(i), name); err != nil {
				return err
			}
		}
	default:
		into.Set(from.Convert(into.Type()))
	}
	return nil
}

func putItems(from, into reflect.Value, name string) error {
	if into.Kind() == reflect.Slice {
		if isNil(from) {
			into.SetZero()
			return nil
		}
		into.Set(reflect.MakeSlice(into.Type(), from.Len(), from.Len()))
	}
	for i := range from.Len() {
		if err := put(from.Index(i), into.Index(i), name); err != nil {
			return err
		}
	}
	return nil
}

func putEntries(from, into reflect.Value, name string) error {
	if from.IsNil() {
		into.SetZero()
		return nil
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), from.Len()))
	for entries := from.MapRange(); entries.Next(); {
		key, value := reflect.New(into.Type().Key()).Elem(), reflect.New(into.Type().Elem()).Elem()
		if err := put(entries.Key(), key, name); err != nil {
			return err
		}
		if err := put(entries.Value(), value, name); err != nil {
			return err
		}
		into.SetMapIndex(key, value)
	}
	return nil
}

// check returns a Failure where a row's value is not as its input is declared.
func check(value reflect.Value, declared columnType, name string) error {
	if isNil(value) {
		if declared.nullable {
			return nil
		}
		return isNull(name)
	}
	value = reflect.Indirect(value)
	if declared.kind == arrayKind && declared.length > 0 && value.Len() != declared.length {
		return wrongLength(name, value.Len(), declared.length)
	}
	return nil
}

func isNull(name string) error {
	return &Failure{Code: ensemble.CodeNullValue, Msg: fmt.Sprintf("input '%s' is null, but is not declared as nullable", name)}
}

func wrongLength(name string, found, wanted int) error {
	return &Failure{
		Code: ensemble.CodeWrongLength,
		Msg:  fmt.Sprintf("input '%s' holds %d values, but needs %d", name, found, wanted),
	}
}

func isNil(value reflect.Value) bool {
	return canBeNil(value.Type()) && value.IsNil()
}

func canBeNil(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// equal reports whether two values of one type are the same, as columns hold them.
func equal(a, b reflect.Value) bool {
	if a.Type() == reflect.TypeFor[time.Time]() {
		return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
	}
	if isNil(a) || isNil(b) {
		return isNil(a) && isNil(b)
	}
	switch a.Kind() {
	case reflect.Pointer:
		return equal(a.Elem(), b.Elem())
	case reflect.Slice, reflect.Array:
		same := a.Len() == b.Len()
		for i := 0; same && i < a.Len(); i++ {
			same = equal(a.Index(i), b.Index(i))
		}
		return same
	case reflect.Map:
		same := a.Len() == b.Len()
		for entries := a.MapRange(); same && entries.Next(); {
			other := b.MapIndex(entries.Key())
			same = other.IsValid() && equal(entries.Value(), other)
		}
		return same
	case reflect.Struct:
		same := true
		for i := 0; same && i < a.NumField(); i++ {
			same = equal(a.Field(i), b.Field(i))
		}
		return same
	}
	return a.Equal(b)
}

// fieldsOf returns the fields of a struct type by their names in rows, and the
// names in order.
func fieldsOf(t reflect.Type) (fields map[string]reflect.StructField, names []string) {
	fields = map[string]reflect.StructField{}
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() {
			name := columns.FieldName(field)
			fields[name], names = field, append(names, name)
		}
	}
	return fields, names
}
