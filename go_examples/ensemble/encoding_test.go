package ensemble

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

func TestEncodingIsArrowWhereThatIsRight(t *testing.T) {
	type unregistered struct {
		X float64 `beam:"x"`
	}
	_, s := beam.NewPipelineWithRoot()
	points := beam.Create(s, point{})
	windowed := beam.WindowInto(s, window.NewFixedWindows(time.Minute), points)
	for name, c := range map[string]struct {
		rows   beam.PCollection
		wanted Encoding
		want   Encoding
		err    string
	}{
		"default":               {points, "", EncodingArrow, ""},
		"wanted":                {points, EncodingArrow, EncodingArrow, ""},
		"rows wanted":           {points, EncodingRows, EncodingRows, ""},
		"windows":               {windowed, "", EncodingRows, ""},
		"windows, Arrow wanted": {windowed, EncodingArrow, "", `rows in windows other than the global one cannot travel as "arrow"`},
		"unregistered":          {beam.Create(s, unregistered{}), "", EncodingRows, ""},
		"unregistered, wanted":  {beam.Create(s, unregistered{}), EncodingArrow, "", "add beam.RegisterType(reflect.TypeFor[ensemble.unregistered]())"},
		"unknown":               {points, "columns", "", `ensemble: there is no encoding "columns"; there are "rows" and "arrow"`},
	} {
		x, err := newCrossing(c.rows, reflect.TypeFor[average](), false, c.wanted)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: says %v, not %q", name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case x.encoding != c.want:
			t.Errorf("%s: chooses %q, not %q", name, x.encoding, c.want)
		}
	}
}

// lines is a log.
type lines struct{ all []string }

func (l *lines) Log(_ context.Context, _ log.Severity, _ int, line string) {
	l.all = append(l.all, line)
}

func TestEncodingSaysOnceWhyItIsRows(t *testing.T) {
	type unregistered struct{ X float64 }
	logged.Clear()
	var said lines
	log.SetLogger(&said)
	t.Cleanup(func() { log.SetLogger(&log.Structural{}) })
	_, s := beam.NewPipelineWithRoot()
	windowed := beam.WindowInto(s, window.NewFixedWindows(time.Minute), beam.Create(s, point{}))
	for range 2 {
		if _, err := chooseEncoding("", windowed); err != nil {
			t.Fatal(err)
		}
		if _, err := chooseEncoding("", beam.Create(s, point{}), reflect.TypeFor[unregistered]()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"ensemble: rows in windows other than the global one travel one by one, not in batches",
		"ensemble: rows travel one by one, not in batches: the type ensemble.unregistered is not registered; " +
			"add beam.RegisterType(reflect.TypeFor[ensemble.unregistered]()) to an init function",
	}
	if !reflect.DeepEqual(said.all, want) {
		t.Errorf("logs %q, not %q", said.all, want)
	}
}
