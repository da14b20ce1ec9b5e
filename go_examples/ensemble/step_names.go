package ensemble

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
)

// Beam 2.77 calls each transform of a service "External", and does not make
// the names of its steps unique: a runner shows that instead of the ensemble,
// and Flink refuses a pipeline with two of them. So each call has a name of
// its own in its pipeline, which is the same whenever the program runs:
// savepoints and updates go by the names.
var stepNames = names{taken: map[uintptr]map[string]int{}}

type names struct {
	sync.Mutex
	// taken has, for each pipeline that is being made, how often a name was asked for.
	taken map[uintptr]map[string]int
}

// next returns the name of a call within a scope.
func (n *names) next(s beam.Scope, config *config) string {
	name := path.Join(strings.TrimPrefix(s.String(), "root/"), ensembleName(config))
	pipeline := graphOf(s)
	if pipeline == nil {
		return name
	}
	n.Lock()
	defer n.Unlock()
	key := uintptr(unsafe.Pointer(pipeline))
	if n.taken[key] == nil {
		n.taken[key] = map[string]int{}
		runtime.AddCleanup(pipeline, n.forget, key)
	}
	n.taken[key][name]++
	if again := n.taken[key][name]; again > 1 {
		return fmt.Sprintf("%s'%d", name, again-1)
	}
	return name
}

func (n *names) forget(key uintptr) {
	n.Lock()
	defer n.Unlock()
	delete(n.taken, key)
}

// graphOf returns the pipeline that a scope belongs to, which Beam keeps in an
// unexported field; nil where a later version keeps it elsewhere.
func graphOf(s beam.Scope) *graph.Graph {
	field := reflect.ValueOf(&s).Elem().FieldByName("real")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*graph.Graph]() {
		return nil
	}
	return *(**graph.Graph)(unsafe.Pointer(field.UnsafeAddr()))
}

var namedEnsemble = regexp.MustCompile(`(?m)^["{ ]*ensemble["']?:\s*["']?([\pL\pN_-]+)`)

// ensembleName returns the name that the file gives the ensemble, or that of
// the file which the service reads.
func ensembleName(c *config) string {
	if found := namedEnsemble.FindStringSubmatch(c.Spec); found != nil {
		return found[1]
	}
	name, _, _ := strings.Cut(path.Base(c.SpecURI), ".")
	return strings.Trim("ensemble "+strings.Trim(name, "/"), " ")
}
