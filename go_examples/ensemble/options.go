package ensemble

import (
	"cmp"
	"context"
	"maps"
	"os"
	"time"

	"google.golang.org/grpc"
)

// Option adjusts a call of an ensemble.
type Option func(*call)

// call is one call of an ensemble, as its options describe it.
type call struct {
	ctx      context.Context
	timeouts Timeouts
	addr     string
	// started is the service of WithService, nil where it is not used.
	started  *Service
	dial     []grpc.DialOption
	encoding Encoding
	// tls is what WithTLS says, nil where it is not used.
	tls       *TLS
	tokenFile string
	config    config
	// refused is what is wrong with the first bad option.
	refused error
}

// newCall returns the call that options describe.
func newCall(opts []Option) (*call, error) {
	c := &call{ctx: context.Background(), timeouts: defaultTimeouts}
	for i, opt := range opts {
		if opt == nil {
			return nil, failure("ensemble: option %d of the call is nil; leave it out", i+1)
		}
		opt(c)
	}
	switch {
	case c.started != nil && (c.addr != "" || c.tls != nil || c.tokenFile != ""):
		c.refuse("ensemble: ensemble.WithService names a service of this process; " +
			"take WithExpansionAddr, WithTLS and WithTokenFile away")
	case c.started == nil && c.addr == "":
		c.addr = os.Getenv(addrVariable)
	}
	return c, c.refused
}

// refuse has the call fail, because of an option.
func (c *call) refuse(format string, args ...any) {
	if c.refused == nil {
		c.refused = failure(format, args...)
	}
}

// WithContext has a call end when ctx does: the start of a service, the
// connection, and the checks of the ensemble. The pipeline itself runs under the
// context that it is run with. Without this option only Timeouts bound a call.
func WithContext(ctx context.Context) Option {
	return func(c *call) {
		if ctx == nil {
			c.refuse("ensemble: the context of ensemble.WithContext is nil; use context.Background()")
			return
		}
		c.ctx = ctx
	}
}

// Timeouts bound the parts of a call. A zero leaves the default in place.
type Timeouts struct {
	// Start bounds the start of a service by the call. The default is 60 s.
	Start time.Duration
	// Connect bounds the wait for a service that listens, but does not answer.
	// The default is 4 s.
	Connect time.Duration
	// Expand bounds the checks of the service, which reads model files. The
	// default is 5 min.
	Expand time.Duration
}

var defaultTimeouts = Timeouts{Start: startTimeout, Connect: dialTimeout, Expand: expandTimeout}

// WithTimeouts sets how long the parts of a call may take.
func WithTimeouts(timeouts Timeouts) Option {
	return func(c *call) {
		if min(timeouts.Start, timeouts.Connect, timeouts.Expand) < 0 {
			c.refuse("ensemble: ensemble.WithTimeouts takes durations of zero or more, not %+v", timeouts)
		}
		c.timeouts = Timeouts{
			Start:   cmp.Or(timeouts.Start, c.timeouts.Start),
			Connect: cmp.Or(timeouts.Connect, c.timeouts.Connect),
			Expand:  cmp.Or(timeouts.Expand, c.timeouts.Expand),
		}
	}
}

// WithExpansionAddr names the expansion service to use, as host:port. Without
// it the environment variable BEAM_ENSEMBLES_ADDR does. Where that is unset
// too, a service is started for the life of this process. An empty addr counts
// as no option.
func WithExpansionAddr(addr string) Option {
	return func(c *call) { c.addr = cmp.Or(addr, c.addr) }
}

// WithService uses a service that StartService has started, whatever the
// environment variables name.
func WithService(service *Service) Option {
	return func(c *call) {
		if service == nil {
			c.refuse("ensemble: the service of ensemble.WithService is nil; use what ensemble.StartService returns")
		}
		c.started = service
	}
}

// WithDialOptions adds gRPC's own options to the connections to the service,
// such as a dialer, interceptors or keepalive parameters. They come after those
// of this package. Failures of TLS are then told in gRPC's words.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(c *call) { c.dial = append(c.dial, options...) }
}

// WithParameters gives the values of the file's ${name} placeholders.
func WithParameters(values map[string]string) Option {
	return func(c *call) { c.config.Parameters = merged(c.config.Parameters, values) }
}

// WithColumns says which field of the row an input column of the file is,
// where the names differ: column name to field name.
func WithColumns(fields map[string]string) Option {
	return func(c *call) { c.config.Columns = merged(c.config.Columns, fields) }
}

// WithPrefix puts prefix before the name of every column that the ensemble
// adds.
func WithPrefix(prefix string) Option {
	return func(c *call) { c.config.Prefix = prefix }
}

// WithPassThrough names the fields of the row to keep, none where no name is
// given. Without this option all are kept.
func WithPassThrough(fields ...string) Option {
	return func(c *call) { c.config.PassThrough = append([]string{}, fields...) }
}

// WithProvenance adds the column "provenance", which says what a row's answers
// come from: the ensemble's name, the digest of its file and models, the arm of
// each route, and the nodes whose errors were ignored. Scored has a field for it:
//
//	type Provenance struct {
//		Ensemble      string            `beam:"ensemble"`
//		Digest        string            `beam:"digest"`
//		Route         map[string]string `beam:"route"`
//		ErrorsIgnored []string          `beam:"errors_ignored"`
//	}
//
//	type Scored struct {
//		Label      string     `beam:"label"`
//		Provenance Provenance `beam:"provenance"`
//	}
func WithProvenance() Option {
	return func(c *call) { c.config.Provenance = true }
}

// WithRefreshInterval has the workers check every interval whether the
// ensemble's file or a file that it names has changed, and then go on with what
// is there now. Without it they keep what they started with. The interval is a
// whole number of seconds, at least one; any other is refused.
//
// A new ensemble file is taken with FromURI, which names it by its place;
// FromFile sends its text once, and its models only are watched. The digest of
// WithProvenance changes with them.
func WithRefreshInterval(interval time.Duration) Option {
	return func(c *call) {
		if interval < time.Second || interval%time.Second != 0 {
			c.refuse("ensemble: a refresh interval is a whole number of seconds, at least one, not %v", interval)
		}
		c.config.RefreshSecs = int64(interval / time.Second)
	}
}

func merged(into, from map[string]string) map[string]string {
	all := make(map[string]string, len(into)+len(from))
	maps.Copy(all, into)
	maps.Copy(all, from)
	return all
}
