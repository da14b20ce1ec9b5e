package ensemble

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// How the SDK calls the steps of this package. Its own way, register.DoFn, makes
// code for every emitter that a step could have: of these few steps 170 MB,
// which took the compiler half a minute wherever this package was built
// (Beam 2.77). Here a method that runs once per row is called as it is, and the
// others by reflection.

// methods are a step's methods by name.
type methods = map[string]reflectx.Func

// registerStep makes a step known to the SDK.
func registerStep[F any](of func(fn *F) methods) {
	step := reflect.TypeFor[F]()
	beam.RegisterDoFn(step)
	reflectx.RegisterStructWrapper(step, func(fn any) methods { return of(fn.(*F)) })
}

// method is what all calls have in common.
type method[F any] struct{ call F }

func direct[F any](of F) method[F] { return method[F]{of} }

func (m method[F]) Name() string          { return reflectx.FunctionName(m.call) }
func (m method[F]) Type() reflect.Type    { return reflect.TypeFor[F]() }
func (m method[F]) Call(args []any) []any { return reflectx.MakeFunc(m.call).Call(args) }

type packCall struct {
	method[func(beam.X) (beam.Y, error)]
}

func (c packCall) Call1x2(row any) (any, any) { return c.call(row) }

type packKeyedCall struct {
	method[func(beam.X, beam.Y) (beam.Z, error)]
}

func (c packKeyedCall) Call2x2(key, row any) (any, any) { return c.call(key, row) }

type unpackKeyedCall struct {
	method[func(beam.X) (beam.Y, beam.Z, error)]
}

func (c unpackKeyedCall) Call1x3(columns any) (any, any, any) { return c.call(columns) }

type batchCall struct {
	method[func(beam.EventTime, beam.X, func(beam.EventTime, []byte)) error]
}

func (c batchCall) Call3x1(time, row, emit any) any {
	return c.call(time.(beam.EventTime), row, emit.(func(beam.EventTime, []byte)))
}

type batchKeyedCall struct {
	method[func(beam.EventTime, beam.X, beam.Y, func(beam.EventTime, []byte)) error]
}

func (c batchKeyedCall) Call4x1(time, key, row, emit any) any {
	return c.call(time.(beam.EventTime), key, row, emit.(func(beam.EventTime, []byte)))
}
