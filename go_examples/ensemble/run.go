package ensemble

import (
	"os"
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
// Run panics where TryRun gives an error.
func Run[Scored any](s beam.Scope, rows beam.PCollection, file Source, opts ...Option) beam.PCollection {
	return must(TryRun[Scored](s, rows, file, opts...))
}

// RunWithErrors is Run, but gives the rows that could not be scored as a
// second collection, a PCollection<Failed[T]> or PCollection<KV<K, Failed[T]>>.
//
// RunWithErrors panics where TryRunWithErrors gives an error.
func RunWithErrors[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (scored, failed beam.PCollection) {
	scored, failed, err := TryRunWithErrors[Scored](s, rows, file, opts...)
	if err != nil {
		panic(err)
	}
	return scored, failed
}

// TryRun is Run, but gives an error where the ensemble, or the way it is
// called, is wrong (an *Error), or where the service cannot be reached. The
// pipeline cannot be run after an error.
func TryRun[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (beam.PCollection, error) {
	scored, _, err := apply(s.Scope("ensemble.Run"), rows, reflect.TypeFor[Scored](), file, false, opts)
	return scored, err
}

// TryRunWithErrors is RunWithErrors, but gives an error as TryRun does.
func TryRunWithErrors[Scored any](
	s beam.Scope, rows beam.PCollection, file Source, opts ...Option,
) (scored, failed beam.PCollection, err error) {
	return apply(s.Scope("ensemble.RunWithErrors"), rows, reflect.TypeFor[Scored](), file, true, opts)
}

func must(rows beam.PCollection, err error) beam.PCollection {
	if err != nil {
		panic(err)
	}
	return rows
}

// apply is all four of the above.
func apply(
	s beam.Scope, rows beam.PCollection, scored reflect.Type, file Source, withErrors bool, opts []Option,
) (beam.PCollection, beam.PCollection, error) {
	var none beam.PCollection
	c := call{addr: os.Getenv(addrVariable)}
	for _, opt := range opts {
		opt(&c)
	}
	if c.refused != nil {
		return none, none, c.refused
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
	return crossing.expand(s, rows, service, payload)
}

// service returns the service that a call names, else one that this process
// starts, which uses neither TLS nor a token.
func (c *call) service(file Source) (endpoint, error) {
	if c.addr != "" {
		return endpoint{c.addr, securityOf(c.tls, c.tokenFile)}, nil
	}
	if c.tls != nil || c.tokenFile != "" {
		return endpoint{}, failure("ensemble: ensemble.WithTLS and ensemble.WithTokenFile need the address of a service; "+
			"add ensemble.WithExpansionAddr or set %s", addrVariable)
	}
	addr, err := startedService(file.folder())
	return endpoint{addr: addr}, err
}

// describe fills in the config of a call.
func (c *call) describe(file Source, x *crossing) (err error) {
	if err := file.describe(&c.config); err != nil {
		return err
	}
	c.config.Client = "go " + Version
	c.config.Opaque = x.opaque
	c.config.PassThrough = x.passThrough(c.config.PassThrough)
	if x.encoding == Arrow {
		c.config.Encoding = string(Arrow)
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
