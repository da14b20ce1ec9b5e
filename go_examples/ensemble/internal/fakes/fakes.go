// Package fakes is where package ensemble finds the fakes of package
// ensembletest, which take the place of an expansion service.
package fakes

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Call is one call of an ensemble, as its options describe it.
type Call struct {
	// Ensemble is the name that the file gives the ensemble.
	Ensemble string
	// Spec is the text of the file, empty where the service reads it.
	Spec       string
	Parameters map[string]string
	Columns    map[string]string
	Prefix     string
	// PassThrough names the fields to keep; nil stands for all.
	PassThrough []string
	Provenance  bool

	// Row and Scored are the struct types of what goes in and comes out.
	Row, Scored reflect.Type
	// Failed is the type of failed rows, nil where they fail the pipeline.
	Failed reflect.Type
	// Opaque names the types of the row's fields that no model can read.
	Opaque map[string]string
}

// Service is a fake.
type Service interface {
	// Expand scores rows. A refusal is told in the words of a service.
	Expand(s beam.Scope, rows beam.PCollection, call Call) (scored, failed beam.PCollection, refusal string)
}

var (
	services sync.Map
	started  atomic.Int64
)

// Serve gives a service an address until stop is called. No other process
// finds anything there.
func Serve(service Service) (addr string, stop func()) {
	addr = fmt.Sprintf("fake-%d.ensembletest.invalid:1", started.Add(1))
	services.Store(addr, service)
	return addr, func() { services.Delete(addr) }
}

// At returns the service at an address, nil where that is no fake's.
func At(addr string) Service {
	found, _ := services.Load(addr)
	service, _ := found.(Service)
	return service
}
