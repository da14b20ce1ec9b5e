package ensemble

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
)

func TestCrossingIsDirectWherePossible(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	x, err := newCrossing(beam.Create(s, point{}), reflect.TypeFor[average](), true, EncodingRows)
	if err != nil {
		t.Fatal(err)
	}
	if x.carriage != nil || x.output != reflect.TypeFor[average]() || x.errors != reflect.TypeFor[Failed[point]]() {
		t.Errorf("plain rows do not cross as they are: %+v", x)
	}
}

func TestCrossingUnpacksOnlyWhatNeedsIt(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	x, err := newCrossing(beam.Create(s, photo{}), reflect.TypeFor[average](), true, EncodingRows)
	if err != nil {
		t.Fatal(err)
	}
	if x.carriage == nil || x.output != x.scored || x.errors == x.failed {
		t.Errorf("scored rows without opaque fields are unpacked: %+v", x)
	}
}

func TestCrossingRefuses(t *testing.T) {
	type unregistered struct{ At uint64 }
	type narrow struct {
		Average int16 `beam:"average"`
	}
	type clock struct {
		Now uint64 `beam:"now"`
	}
	type retyped struct {
		Taken string `beam:"taken"`
	}
	type namedTwice struct {
		X float64 `beam:"average"`
		Y float64 `beam:"average"`
	}
	type within struct {
		Inner namedTwice `beam:"inner"`
	}
	type tagged struct {
		label string `beam:"label"`
	}
	_ = tagged{}.label
	_, s := beam.NewPipelineWithRoot()
	groups := beam.GroupByKey(s, beam.ParDo(s, func(p point) (string, point) { return "", p }, beam.Create(s, point{})))
	points, photos := beam.Create(s, point{}), beam.Create(s, photo{})
	for name, c := range map[string]struct {
		rows       beam.PCollection
		scored     reflect.Type
		withErrors bool
		want       string
	}{
		"no rows":               {beam.PCollection{}, reflect.TypeFor[average](), false, "not a PCollection"},
		"rows of text":          {beam.Create(s, "x"), reflect.TypeFor[average](), false, "not string"},
		"scored text":           {points, reflect.TypeFor[string](), false, "not string"},
		"a narrow column":       {points, reflect.TypeFor[narrow](), false, "field Average of ensemble.narrow has the type int16"},
		"a number from nowhere": {photos, reflect.TypeFor[clock](), false, "field Now of ensemble.clock has the type uint64"},
		"an unexported field": {
			points, reflect.TypeFor[tagged](), false,
			`field label of ensemble.tagged has the tag beam:"label" but is unexported, so nothing can fill it; rename it to Label`,
		},
		"another type": {photos, reflect.TypeFor[retyped](), false, "that of ensemble.photo has the type uint64"},
		"groups":       {groups, reflect.TypeFor[average](), false, "rows are structs, or KV pairs with structs as values, not CoGBK"},
		"one name twice": {
			beam.Create(s, namedTwice{}), reflect.TypeFor[average](), false,
			`the fields X and Y of ensemble.namedTwice are both called "average" in rows`,
		},
		"one name twice in what comes back": {
			points, reflect.TypeFor[namedTwice](), false,
			`the fields X and Y of ensemble.namedTwice are both called "average" in rows`,
		},
		"one name twice in a row of a row": {
			beam.Create(s, within{}), reflect.TypeFor[average](), false,
			`the fields X and Y of ensemble.namedTwice are both called "average" in rows`,
		},
		"unregistered rows": {
			beam.Create(s, unregistered{}), reflect.TypeFor[average](), false,
			"add beam.RegisterType(reflect.TypeFor[ensemble.unregistered]())",
		},
		"unregistered failed rows": {
			beam.Create(s, average{}), reflect.TypeFor[average](), true,
			"add beam.RegisterType(reflect.TypeFor[ensemble.Failed[ensemble.average]]())",
		},
	} {
		_, err := newCrossing(c.rows, c.scored, c.withErrors, EncodingRows)
		if err == nil || !strings.HasPrefix(err.Error(), "ensemble: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: says %v, not %q", name, err, c.want)
		}
	}
}

// secretive is a row with fields that Beam does not encode.
type secretive struct {
	hidden float64 `beam:"x"`
	Y      float64 `beam:"y"`
	other  float64
}

func init() { beam.RegisterType(reflect.TypeFor[secretive]()) }

func TestMissingFieldsThatAreUnexportedAreNamed(t *testing.T) {
	_ = secretive{}.hidden + secretive{}.other
	service := &fakeService{answer: func() (*jobpb.ExpansionResponse, error) {
		return &jobpb.ExpansionResponse{Error: "not valid\n  [missing_field] input.x: the rows lack 'x'\n" +
			"  [field_type] input.y: not a text\n  [missing_field] input.other: the rows lack 'other'"}, nil
	}}
	_, s := beam.NewPipelineWithRoot()
	_, err := TryRun[average](s, beam.Create(s, secretive{}), FromText("ensemble: x", "/"),
		WithExpansionAddr(service.start(t)))
	for _, want := range []string{
		"\nThe field hidden of ensemble.secretive is unexported, so Beam does not encode it: rename it to Hidden with the tag beam:\"x\".",
		"\nThe field other of ensemble.secretive is unexported, so Beam does not encode it: rename it to Other with the tag beam:\"other\".",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("says %v, without %q", err, want)
		}
	}
}
