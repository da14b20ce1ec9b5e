// Package runneropts hands a job to its runner with pipeline options that the
// Go SDK (2.77) has no flag for, such as those of Beam's Flink runner. A
// program that imports it has the flag --runner_option:
//
//	import _ "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/runneropts"
//
//	digits ... --runner_option=streaming=true --runner_option=max_bundle_size=64
//
// The SDK puts a fixed set of options into the call Prepare of the job service
// (runtime.RawOptionsWrapper); this package adds to those of that call. So it
// serves runners that have a job service: Beam's for Flink and Spark, Prism. A
// program that is given no such option runs as if the package were not there.
package runneropts

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
)

const flagName = "runner_option"

// named is how Beam writes an option's name where languages meet.
var named = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// given are the options of this program's jobs: values by name. As with other
// flags, all are there before the first job is handed over.
var given = map[string]string{}

func init() {
	flag.Func(flagName, "A pipeline option of the runner, `NAME=VALUE` (max_bundle_size=64); may be given several times.", Add)
}

// Add gives all jobs that this program hands to a runner an option, written as
// the flag takes it: NAME=VALUE, with a name as Beam's Python SDK writes it.
// The last value of a name counts. It is not an error here if the runner does not
// know the name, or takes no such value: its job service is asked when a job is
// handed over, which then fails.
func Add(option string) error {
	name, value, found := strings.Cut(option, "=")
	if !found {
		return errors.New("give NAME=VALUE, as max_bundle_size=64")
	}
	if !named.MatchString(name) {
		return fmt.Errorf("%q is not a valid name of an option: use lower-case letters, digits and underscores, as in max_bundle_size", name)
	}
	if len(given) == 0 {
		handOver()
	}
	given[name] = value
	return nil
}
