package ensemble

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
)

// Failed is a row that could not be scored, and why. T is the type of the
// rows. Beam decodes it in workers, so the type that a pipeline uses is
// registered like any other:
//
//	func init() { beam.RegisterType(reflect.TypeFor[ensemble.Failed[Image]]()) }
//
// Registering a DoFn that takes a Failed[Image] with Beam's register package
// does the same.
type Failed[T any] struct {
	// Element is the row as it came.
	Element T `beam:"element"`
	// Ensemble and Node name what failed.
	Ensemble string `beam:"ensemble"`
	Node     string `beam:"node"`
	// Code is the stable name of the kind of failure.
	Code string `beam:"code"`
	// Msg says what went wrong, for people.
	Msg string `beam:"msg"`
	// Stack is the Python traceback, where there is one.
	Stack string `beam:"stack"`
}

// failedType finds the type Failed[row] among the registered ones: a type
// argument that is known only at run time cannot be put in.
func failedType(row reflect.Type) (reflect.Type, error) {
	name := fmt.Sprintf("Failed[%s]", qualifiedName(row))
	key := reflect.TypeFor[Failed[struct{}]]().PkgPath() + "." + name
	if t, ok := runtime.LookupType(key); ok {
		return t, nil
	}
	return nil, fmt.Errorf("ensemble: the type ensemble.Failed[%[1]v] is not registered; "+
		"add beam.RegisterType(reflect.TypeFor[ensemble.Failed[%[1]v]]()) to an init function", row)
}

// qualifiedName spells a type as the name of a generic type's instance does.
func qualifiedName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return "*" + qualifiedName(t.Elem())
	}
	return t.PkgPath() + "." + t.Name()
}
