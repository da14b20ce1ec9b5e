package ensemble

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
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
		"default":               {points, "", Rows, ""},
		"wanted":                {points, Arrow, Arrow, ""},
		"rows wanted":           {points, Rows, Rows, ""},
		"windows":               {windowed, "", Rows, ""},
		"windows, Arrow wanted": {windowed, Arrow, Rows, ""},
		"unregistered":          {beam.Create(s, unregistered{}), "", Rows, ""},
		"unregistered, wanted":  {beam.Create(s, unregistered{}), Arrow, "", "add beam.RegisterType(reflect.TypeFor[ensemble.unregistered]())"},
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
