package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// part is some of the rows, by their ids: from First to End, that without.
type part struct {
	First int64 `beam:"first"`
	End   int64 `beam:"end"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[part]())
	beam.RegisterType(reflect.TypeFor[bundleTotal]())
	register.Emitter1[bundleTotal]()
	register.Function2x0(collect)
	register.Iter1[bundleTotal]()
}

// readValues reads rows of width numbers.
func readValues(path string, width int) ([][]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := make([]float64, len(data)/8)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, all); err != nil {
		return nil, err
	}
	if len(all) == 0 || len(all)%width != 0 {
		return nil, fmt.Errorf("%s does not hold rows of %d doubles", path, width)
	}
	rows := make([][]float64, 0, len(all)/width)
	for ; len(all) > 0; all = all[width:] {
		rows = append(rows, all[:width])
	}
	return rows, nil
}

// readColumn reads the only column of an Arrow file of one record batch.
func readColumn[C arrow.Array](path string) (C, error) {
	var column C
	data, err := os.ReadFile(path)
	if err != nil {
		return column, err
	}
	file, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		return column, fmt.Errorf("%s: %w", path, err)
	}
	batch, err := file.RecordBatch(0)
	if err != nil {
		return column, fmt.Errorf("%s: %w", path, err)
	}
	column, ok := batch.Column(0).(C)
	if !ok {
		return column, fmt.Errorf("%s: holds %v, not %T", path, batch.Schema(), column)
	}
	return column, nil
}

// seen is what this process was told by the sinks. The worker is this process:
// the runner is given environment_type LOOPBACK.
var seen struct {
	sync.Mutex
	bundleTotal
}

// collected gives the number of scored rows and the mean of their answers.
func collected() (count int64, mean float64) {
	seen.Lock()
	defer seen.Unlock()
	return seen.Count, seen.Sum / float64(seen.Count)
}

// bundleTotal is what a sink saw in a bundle.
type bundleTotal struct {
	Count int64   `beam:"count"`
	Sum   float64 `beam:"sum"`
}

// total counts answers and adds them up: what each workload's sink is made of.
type total struct{ now bundleTotal }

func (t *total) StartBundle(func(bundleTotal)) { t.now = bundleTotal{} }

func (t *total) add(answer float64) {
	t.now.Count++
	t.now.Sum += answer
}

// FinishBundle tells a next step, as a sink that writes files does. While a
// step without a next one runs, Prism 2.77 keeps a core busy with waiting: so
// that one comes once, when all bundles have ended.
func (t *total) FinishBundle(emit func(bundleTotal)) { emit(t.now) }

// collect takes the totals of all bundles, when the last one has ended.
func collect(_ int, totals func(*bundleTotal) bool) {
	seen.Lock()
	defer seen.Unlock()
	var of bundleTotal
	for totals(&of) {
		seen.Count += of.Count
		seen.Sum += of.Sum
	}
}

// workload is one ensemble and, for some, the same work wired by hand, over a
// collection of the parts in which its rows are made.
type workload struct {
	ensemble  func(s beam.Scope, source beam.PCollection) (beam.PCollection, error)
	handWired func(s beam.Scope, source beam.PCollection) (beam.PCollection, error)
	sink      any
}

var workloads = map[string]workload{
	"light":  {ensemble: lightEnsemble, handWired: lightHandWired, sink: &lightSink{}},
	"digits": {ensemble: digitsEnsemble, handWired: digitsHandWired, sink: &digitsSink{}},
	"text":   {ensemble: textEnsemble, sink: &textSink{}},
	"image":  {ensemble: imageEnsemble, sink: &imageSink{}},
}
