package ensemble

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// addrVariable names the environment variable with the address of the
// expansion service to use by default.
const addrVariable = "BEAM_ENSEMBLES_ADDR"

// Run scores rows, a PCollection<T> or PCollection<KV<K, T>> of structs, with
// an ensemble. It gives a PCollection<Scored>, or PCollection<KV<K, Scored>>.
// Scored is a struct whose exported fields are among the fields of the row and
// the columns that the ensemble adds, by name or by beam tag, in any order. A
// row that cannot be scored fails the pipeline.
//
// Run panics with an *Error where TryRun returns one.
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
	if err := c.describe(file, crossing); err != nil {
		return none, none, err
	}
	payload, err := c.config.payload()
	if err != nil {
		return none, none, err
	}
	service, err := c.service(file)
	if err != nil {
		return none, none, err
	}
	return crossing.expand(c.ctx, s.Scope(name), rows, service, payload)
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
