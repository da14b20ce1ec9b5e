package ensemble

import (
	"cmp"
	"fmt"
	"maps"
	"time"
)

// Option adjusts a call of an ensemble.
type Option func(*call)

// call is one call of an ensemble, as its options describe it.
type call struct {
	addr     string
	encoding Encoding
	// tls is what WithTLS says, nil where it is not used.
	tls       *TLS
	tokenFile string
	config    config
	// refused is what is wrong with an option.
	refused error
}

// WithExpansionAddr names the expansion service to use, as host:port. Without
// it the environment variable BEAM_ENSEMBLES_ADDR does; where that is unset
// too, a service is started for the life of this process. An empty addr leaves
// it at that.
func WithExpansionAddr(addr string) Option {
	return func(c *call) { c.addr = cmp.Or(addr, c.addr) }
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

// WithProvenance adds the column "provenance": a row of the ensemble's name,
// the digest of its file and models, the arm of each route, and the nodes
// whose errors were ignored.
func WithProvenance() Option {
	return func(c *call) { c.config.Provenance = true }
}

// WithRefreshInterval has the workers look every so often, in whole seconds,
// whether the ensemble's file or a file that it names has changed, and then
// go on with what is there now. Without it they keep what they started with.
// An interval of less than a second is refused.
func WithRefreshInterval(interval time.Duration) Option {
	return func(c *call) {
		if interval < time.Second {
			c.refused = fmt.Errorf("ensemble: a refresh interval is at least one second, not %v", interval)
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
