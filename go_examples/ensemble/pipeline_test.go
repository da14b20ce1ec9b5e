package ensemble_test

import (
	"context"
	"flag"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
)

// The integration tests run pipelines on a real Prism, with a real expansion
// service; these environment variables say where they are.
const (
	addrVariable  = "BEAM_ENSEMBLES_ADDR"
	prismVariable = "BEAM_ENSEMBLES_PRISM"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[collectFn]())
	beam.RegisterDoFn(reflect.TypeFor[collectKeyedFn]())
}

// needServers skips a test where there is no service and no Prism, as in unit
// tests. By its name make test-integration finds it.
func needServers(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestIntegration") {
		t.Fatal("tests that need servers are called TestIntegration...")
	}
	for _, variable := range []string{addrVariable, prismVariable} {
		if os.Getenv(variable) == "" {
			t.Skipf("%s is not set: it says where the server for the integration tests is", variable)
		}
	}
}

// runPipeline runs what build puts into a pipeline on Prism, with the Go part
// in this process.
func runPipeline(t *testing.T, build func(beam.Scope)) error {
	t.Helper()
	return runPipelineIn(t, "LOOPBACK", "", build)
}

// runPipelineIn runs what build puts into a pipeline on Prism, with the Go
// part in an environment of Beam.
func runPipelineIn(t *testing.T, environment, config string, build func(beam.Scope)) error {
	t.Helper()
	_, err := execute(t, environment, config, build)
	return err
}

// runPipelineForResult is runPipeline for who looks at the metrics.
func runPipelineForResult(t *testing.T, build func(beam.Scope)) (beam.PipelineResult, error) {
	t.Helper()
	return execute(t, "LOOPBACK", "", build)
}

func execute(t *testing.T, environment, config string, build func(beam.Scope)) (beam.PipelineResult, error) {
	t.Helper()
	needServers(t)
	for name, value := range map[string]string{
		"endpoint": os.Getenv(prismVariable), "environment_type": environment, "environment_config": config,
		"job_name": t.Name(), "worker_binary": os.Args[0],
	} {
		before := flag.Lookup(name).Value.String()
		t.Cleanup(func() { _ = flag.Set(name, before) }) // Examples run afterwards, as a program without flags does.
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	pipeline, s := beam.NewPipelineWithRoot()
	build(s)
	return universal.Execute(context.Background(), pipeline)
}

// element is one of a collection, with what Beam knows about it.
type element struct {
	key, value any
	time       beam.EventTime
	window     beam.Window
}

// collections are the elements that have arrived at collecting steps: those
// run in this process.
var collections = struct {
	sync.Mutex
	byName map[string][]element
}{byName: map[string][]element{}}

// collect remembers the elements of a collection under a name.
func collect(s beam.Scope, name string, elements beam.PCollection) {
	if typex.IsKV(elements.Type()) {
		beam.ParDo0(s, &collectKeyedFn{Name: name}, elements)
	} else {
		beam.ParDo0(s, &collectFn{Name: name}, elements)
	}
}

// collected gives the elements of the collection of a name.
func collected(name string) []element {
	collections.Lock()
	defer collections.Unlock()
	return collections.byName[name]
}

// forget lets go of all elements.
func forget() {
	collections.Lock()
	defer collections.Unlock()
	clear(collections.byName)
}

func remember(name string, one element) {
	collections.Lock()
	defer collections.Unlock()
	collections.byName[name] = append(collections.byName[name], one)
}

type collectFn struct{ Name string }

func (f *collectFn) ProcessElement(window beam.Window, time beam.EventTime, value beam.X) {
	remember(f.Name, element{value: value, time: time, window: window})
}

type collectKeyedFn struct{ Name string }

func (f *collectKeyedFn) ProcessElement(window beam.Window, time beam.EventTime, key beam.X, value beam.Y) {
	remember(f.Name, element{key: key, value: value, time: time, window: window})
}
