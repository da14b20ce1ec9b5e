package ensembletest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// services are those that Service has started, by their options.
var services struct {
	sync.Mutex
	started map[string]*starting
}

// starting is a service whose start has been asked for.
type starting struct {
	once    sync.Once
	service *ensemble.Service
	err     error
}

// Service starts an expansion service with the models' frameworks, in Python,
// for all tests of this process that ask for the same options. It fails the test
// where none can be started. The service ends with the process.
//
// Pass it with ensemble.WithService, or its address with
// ensemble.WithExpansionAddr. The log of a service goes on to the handler of the
// first test that asks for it: use one that outlives the test.
func Service(t testing.TB, options ensemble.ServiceOptions) *ensemble.Service {
	t.Helper()
	key := fmt.Sprintf("%q %q %q", options.Trust, options.Python, options.Flags)
	services.Lock()
	if services.started == nil {
		services.started = map[string]*starting{}
	}
	s := services.started[key]
	if s == nil {
		s = &starting{}
		services.started[key] = s
	}
	services.Unlock()
	s.once.Do(func() { s.service, s.err = ensemble.StartService(context.Background(), options) })
	if s.err != nil {
		t.Fatalf("ensembletest.Service: %v", s.err)
	}
	return s.service
}
