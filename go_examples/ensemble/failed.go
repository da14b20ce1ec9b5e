package ensemble

import (
	"fmt"
	"reflect"
	"strings"

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

// maxLocalTypes bounds the search for a type that is declared in a function.
const maxLocalTypes = 4096

// failedType finds the type Failed[row] among the registered ones: a type
// argument that is known only at run time cannot be put in.
func failedType(row reflect.Type) (reflect.Type, error) {
	failed := reflect.TypeFor[Failed[struct{}]]().PkgPath() + ".Failed"
	argument := argumentName(row)
	if t, ok := registeredFailed(failed+"["+argument+"]", row); ok {
		return t, nil
	}
	// The compiler numbers the types that a package declares in functions, and
	// the number shows in type arguments only.
	for i := range maxLocalTypes {
		if t, ok := registeredFailed(fmt.Sprintf("%s[%s·%d]", failed, argument, i), row); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("ensemble: the type ensemble.Failed[%[1]v] is not registered; "+
		"add beam.RegisterType(reflect.TypeFor[ensemble.Failed[%[1]v]]()) to an init function", row)
}

// registeredFailed returns the registered type with a key if its failed rows
// have the type row.
func registeredFailed(key string, row reflect.Type) (reflect.Type, bool) {
	t, ok := runtime.LookupType(key)
	return t, ok && t.Field(0).Type == row
}

// argumentName spells a type as the name of a generic type's instance does.
func argumentName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "*" + argumentName(t.Elem())
	case t.Name() == "":
		return t.String()
	}
	return linkerPath(t.PkgPath()) + "." + t.Name()
}

// linkerPath spells the path of a package as the compiler does in the names of
// symbols: see PathToPrefix in Go's cmd/internal/objabi.
func linkerPath(path string) string {
	var spelled strings.Builder
	lastSlash := strings.LastIndexByte(path, '/')
	for i := range len(path) {
		c := path[i]
		if c <= ' ' || c == '.' && i > lastSlash || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&spelled, "%%%02x", c)
		} else {
			spelled.WriteByte(c)
		}
	}
	return spelled.String()
}
