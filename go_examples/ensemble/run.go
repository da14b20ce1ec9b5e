package ensemble

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/fakes"
)

// addrVariable names the environment variable with the address of the
// expansion service to use by default.
const addrVariable = "BEAM_ENSEMBLES_ADDR"

// Run scores rows, a PCollection<T> or PCollection<KV<K, T>> of structs, with
// an ensemble. It returns a PCollection<Scored>, or PCollection<KV<K, Scored>>.
// A row that cannot be scored fails the pipeline. Event times and windows stay
// as they are.
//
// Run panics with an *Error where TryRun returns one.
//
// # Rows
//
// Any struct is a row; its exported fields are the columns, under the name of
// their beam tag or their own. The fields of Scored are any of the row's fields
// and of the columns that the ensemble adds, in any order. Register the types
// with beam.RegisterType, or by registering the DoFns that use them.
//
// # Types
//
//	Go                                     Ensemble file
//	-------------------------------------  ---------------------------
//	string, also of a named type           string
//	[]byte                                 bytes
//	bool                                   boolean
//	int32                                  int32
//	in rows int8 int16 uint8 uint16        int32
//	int64, int, and in rows uint32         int64
//	float32                                float
//	float64                                double
//	time.Time                              timestamp
//	[]T, [N]T                              array<T>
//	map[K]V                                map<K,V>
//	struct                                 row<name: type, ...>
//	*T                                     T?, an optional value
//
// A column that may be null, such as those of a node with when or on_error:
// nullify, needs a pointer (*float64), or a slice, which is nil then. A row in
// a row, as in lists that rank makes, is a struct with the row's fields. So is
// an embedded struct: its fields are not the row's own.
//
// A field [N]T of Scored takes lists of N items: a list of another length fails
// the pipeline, so that a column of any length is a []T.
//
// A tensor such as array<double>[8,8] is a flat []float64, row by row. A nil
// slice or map is null; one that the ensemble reads fails its row.
//
// A timestamp is whole microseconds in UTC. A time.Time that the ensemble reads
// and that has nanoseconds fails its row, unless the file says of the input
// {type: timestamp, nanoseconds: truncate}. A time.Time that passes through
// keeps its nanoseconds and its offset.
//
// A field of any other type (uint, uint64, [N]byte, time.Duration, logical types of Beam,
// structs with unexported fields) passes through untouched, in Beam's own coder
// for Go, to the field of the same name and type of Scored; an ensemble that
// reads it is refused. Unexported fields are lost, as they are
// wherever Beam encodes a struct; in Scored they must have no beam tag.
func Run[Scored any](s beam.Scope, rows beam.PCollection, file Source, opts ...Option) beam.PCollection {
	return must(TryRun[Scored](s, rows, file, opts...))
}

// RunWithErrors is Run, but gives the rows that could not be scored as a
// second collection, a PCollection<Failed[T]> or PCollection<KV<K, Failed[T]>>.
//
// RunWithErrors panics with an *Error where TryRunWithErrors returns one.
func RunWithErrors[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (scored, failed beam.PCollection) {
	scored, failed, err := TryRunWithErrors[Scored](s, rows, file, opts...)
	if err != nil {
		panic(err)
	}
	return scored, failed
}

// TryRun is Run, but returns an error, always an *Error, where the ensemble or
// the call is wrong, or the service cannot be asked. The pipeline cannot be run
// after an error.
func TryRun[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (beam.PCollection, error) {
	scored, _, err := apply(s, "ensemble.Run", rows, reflect.TypeFor[Scored](), file, false, opts)
	return scored, asError(err)
}

// TryRunWithErrors is RunWithErrors, but returns an error as TryRun does.
func TryRunWithErrors[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (scored, failed beam.PCollection, err error) {
	scored, failed, err = apply(s, "ensemble.RunWithErrors", rows, reflect.TypeFor[Scored](), file, true, opts)
	return scored, failed, asError(err)
}

func must(rows beam.PCollection, err error) beam.PCollection {
	if err != nil {
		panic(err)
	}
	return rows
}

// apply is all four of the above.
func apply(
	s beam.Scope, name string, rows beam.PCollection, scored reflect.Type, file Source, withErrors bool, opts []Option,
) (none, _ beam.PCollection, err error) {
	if !s.IsValid() {
		return none, none, failure("ensemble: the scope is not that of a pipeline; use the one of beam.NewPipelineWithRoot")
	}
	if file == nil {
		return none, none, failure("ensemble: there is no ensemble file; pass ensemble.FromFile, FromText or FromURI, not nil")
	}
	c, err := newCall(opts)
	if err != nil {
		return none, none, err
	}
	crossing, err := newCrossing(rows, scored, withErrors, c.encoding)
	if err != nil {
		return none, none, err
	}
	kept := c.config.PassThrough
	if err := c.describe(file, crossing); err != nil {
		return none, none, err
	}
	payload, err := c.config.payload()
	if err != nil {
		return none, none, err
	}
	if fake := fakes.At(c.addr); fake != nil && c.started == nil {
		return crossing.askFake(s.Scope(name), rows, fake, &c.config, kept)
	}
	service, err := c.service(file)
	if err != nil {
		return none, none, err
	}
	s = s.Scope(name)
	return crossing.expand(startedCall{c.ctx, stepNames.next(s, &c.config)}, s, rows, service, payload)
}

// service returns the service that a call names, else one that this process
// starts, which uses neither TLS nor a token.
func (c *call) service(file Source) (endpoint, error) {
	e := endpoint{addr: c.addr, timeouts: c.timeouts, dial: c.dial}
	switch {
	case c.started != nil:
		e.addr = c.started.addr
		return e, nil
	case c.addr != "":
		e.security = securityOf(c.tls, c.tokenFile)
		return e, nil
	case c.tls != nil || c.tokenFile != "":
		return e, failure("ensemble: ensemble.WithTLS and ensemble.WithTokenFile need the address of a service; "+
			"add ensemble.WithExpansionAddr or set %s", addrVariable)
	}
	started, err := services.of(c.ctx, file.folder(), c.timeouts.Start)
	if err != nil {
		return e, err
	}
	e.addr = started.addr
	return e, nil
}

// describe fills in the config of a call.
func (c *call) describe(file Source, x *crossing) (err error) {
	if err := file.describe(&c.config); err != nil {
		return err
	}
	c.config.Client = "go " + Version
	c.config.Opaque = x.opaque
	c.config.PassThrough = x.passThrough(c.config.PassThrough)
	if x.encoding == EncodingArrow {
		c.config.Encoding = string(EncodingArrow)
		if c.config.InputSchema, err = marshalSchema(x.input); err != nil {
			return err
		}
	}
	if c.config.OutputSchema, err = marshalSchema(x.output); err != nil {
		return err
	}
	if x.errors != nil {
		c.config.ErrorHandling = errorHandling{Output: errorsTag}
		c.config.ErrorsSchema, err = marshalSchema(x.errors)
	}
	return err
}
