package ensemble_test

import (
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// ballots votes on the three probabilities of a row.
const ballots = `
ensemble: ballots
inputs: {chances: "array<double>[3]"}
nodes:
  vote:
    combine: soft_vote
    inputs: [chances]
    labels: [rock, paper, scissors]
    outputs: {label: string, confidence: double}
outputs: [label, confidence]
`

// game has fields of all sorts around the one that the ensemble reads.
type game struct {
	Small   int16     `beam:"small"`
	Chances []float64 `beam:"chances"`
	Big     uint64    `beam:"big"`
	Name    string    `beam:"name"`
	At      time.Time `beam:"at"`
	Notes   []string  `beam:"notes"`
	Byte    uint8     `beam:"byte"`
	Maybe   *float64  `beam:"maybe"`
}

// outcome has its fields in another order than the rows of the service.
type outcome struct {
	Confidence float64   `beam:"confidence"`
	At         time.Time `beam:"at"`
	Label      string    `beam:"label"`
	Name       string    `beam:"name"`
	Big        uint64    `beam:"big"`
	Notes      []string  `beam:"notes"`
	Byte       uint8     `beam:"byte"`
	Small      int16     `beam:"small"`
	Maybe      *float64  `beam:"maybe"`
}

// turn is a plain row: it crosses without a step before or after.
type turn struct {
	ID      int       `beam:"id"`
	Small   int16     `beam:"small"`
	Notes   []string  `beam:"notes"`
	Chances []float64 `beam:"chances"`
}

type verdict struct {
	Label string   `beam:"label"`
	Notes []string `beam:"notes"`
	Small int16    `beam:"small"`
	ID    int      `beam:"id"`
}

// Remark is embedded, which makes it a row in the row.
type Remark struct {
	Text string `beam:"text"`
}

// part is a row in other rows.
type part struct {
	Name  string   `beam:"name"`
	Sizes []int32  `beam:"sizes"`
	Next  *Remark  `beam:"next"`
	Pair  [2]int16 `beam:"pair"`
}

// kinds are fields of the types that the other rows here do not have.
type kinds struct {
	Raw    []byte           `beam:"raw"`
	Flag   bool             `beam:"flag"`
	Float  float32          `beam:"float"`
	Part   part             `beam:"part"`
	Maybe  *part            `beam:"maybe"`
	Sure   *bool            `beam:"sure"`
	Counts map[string]int32 `beam:"counts"`
	Parts  map[int64]part   `beam:"parts"`
	Lists  [][]string       `beam:"lists"`
	Rows   []part           `beam:"rows"`
	Unsure []*float64       `beam:"unsure"`
}

// hearing is a row with fields of all types.
type hearing struct {
	Remark
	Chances []float64 `beam:"chances"`
	Kinds   kinds     `beam:"kinds"`
	Raw     []byte    `beam:"raw"`
}

type ruling struct {
	Label string `beam:"label"`
	Raw   []byte `beam:"raw"`
	Remark
	Kinds kinds `beam:"kinds"`
}

// winner is what is left of a row of which only the name is kept.
type winner struct {
	Name  string `beam:"name"`
	Label string `beam:"the_label"`
}

// flower is a row of the ensemble of all kinds of models.
type flower struct {
	X    []float64 `beam:"x"`
	Note *string   `beam:"note"`
}

type sorted struct {
	Answer   string    `beam:"answer"`
	All      []float64 `beam:"all"`
	Weighted float64   `beam:"weighted"` // A mean of the confidence with itself.
}

func init() {
	register.Function1x2(stamp)
	for _, t := range []reflect.Type{
		reflect.TypeFor[game](), reflect.TypeFor[outcome](), reflect.TypeFor[ensemble.Failed[game]](),
		reflect.TypeFor[turn](), reflect.TypeFor[verdict](), reflect.TypeFor[ensemble.Failed[turn]](),
		reflect.TypeFor[hearing](), reflect.TypeFor[ruling](), reflect.TypeFor[ensemble.Failed[hearing]](),
		reflect.TypeFor[winner](), reflect.TypeFor[flower](), reflect.TypeFor[sorted](),
	} {
		beam.RegisterType(t)
	}
}

var (
	half  = 0.5
	games = []game{
		{
			Small: math.MinInt16, Chances: []float64{0.1, 0.7, 0.2}, Big: math.MaxUint64, Name: "first",
			At: time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC), Notes: []string{"a", ""}, Byte: 200, Maybe: &half,
		},
		{Small: 1, Chances: []float64{0.1, 0.2, 0.7}, Name: "second"},
		{Name: "bad", Chances: []float64{1}, Big: math.MaxUint64, At: time.Unix(3, 4).UTC(), Byte: 7},
	}
	outcomes = []any{
		outcome{
			Confidence: 0.7, At: games[0].At, Label: "paper", Name: "first", Big: math.MaxUint64,
			Notes: []string{"a", ""}, Byte: 200, Small: math.MinInt16, Maybe: &half,
		},
		outcome{Confidence: 0.7, Label: "scissors", Name: "second", Small: 1},
	}
)

// allKinds has a value in every field.
var allKinds = kinds{
	Raw: []byte{0, 255}, Flag: true, Float: 0.1, Part: part{"a", []int32{1, -1}, &Remark{"b"}, [2]int16{1, -1}},
	Maybe: &part{Sizes: []int32{}}, Sure: new(bool), Counts: map[string]int32{"a": 1, "": -1},
	Parts: map[int64]part{-1: {Name: "c"}}, Lists: [][]string{{"d"}, {}}, Rows: []part{{}, {Next: &Remark{}}},
	Unsure: []*float64{nil, &half},
}

// stamp gives every turn a time of its own.
func stamp(t turn) (beam.EventTime, turn) { return mtime.Time(int64(t.ID) * 1000), t }

// TestIntegrationScoresRows runs all the calls in one pipeline an encoding:
// starting one takes far longer than running it.
func TestIntegrationScoresRows(t *testing.T) {
	for _, encoding := range []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow} {
		t.Run(string(encoding), func(t *testing.T) { checkScores(t, ensemble.WithEncoding(encoding)) })
	}
}

func checkScores(t *testing.T, encoding ensemble.Option) {
	t.Helper()
	plain := []turn{
		{ID: 1 << 40, Small: -7, Chances: []float64{1, 0, 0}},
		{ID: -1, Small: math.MaxInt16, Notes: []string{}, Chances: []float64{0, 0, 1}},
	}
	note := "from the garden"
	hearings := []hearing{
		{Remark{"e"}, []float64{1, 0, 0}, allKinds, []byte{}},
		{Chances: []float64{0, 1, 0}},
		{Kinds: allKinds},
	}
	flowers := []flower{{[]float64{5.1, 3.5, 1.4, 0.2}, &note}, {[]float64{6.7, 3.0, 5.2, 2.3}, &note}}
	forget()
	err := runPipeline(t, func(s beam.Scope) {
		file := ensemble.FromText(ballots, "")
		collect(s, "opaque", ensemble.Run[outcome](s, beam.CreateList(s, games[:2]), file, encoding))
		collect(s, "plain", ensemble.Run[verdict](s, beam.CreateList(s, plain), file, encoding))
		good, bad := ensemble.RunWithErrors[ruling](s, beam.CreateList(s, hearings), file, encoding)
		collect(s, "types", good)
		collect(s, "types failed", bad)
		good, bad = ensemble.RunWithErrors[outcome](s, beam.AddFixedKey(s, beam.CreateList(s, games)), file, encoding)
		collect(s, "keyed", good)
		collect(s, "keyed failed", bad)
		collect(s, "kept", ensemble.Run[winner](s, beam.CreateList(s, games[:2]), file, encoding,
			ensemble.WithPassThrough("name", "at"), ensemble.WithPrefix("the_")))
		timed := beam.ParDo(s, stamp, beam.CreateList(s, manyTurns()))
		good, bad = ensemble.RunWithErrors[verdict](s, timed, file, encoding)
		collect(s, "many", good)
		collect(s, "many failed", bad)
		windowed := beam.WindowInto(s, window.NewFixedWindows(time.Minute), timed)
		good, bad = ensemble.RunWithErrors[verdict](s, windowed, file)
		collect(s, "windowed", good)
		collect(s, "windowed failed", bad)
		collect(s, "models", ensemble.Run[sorted](s, beam.CreateList(s, flowers),
			ensemble.FromFile("../../tests/golden/specs/votes.yaml"), encoding))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("fields of opaque types", func(t *testing.T) { checkValues(t, "opaque", outcomes) })
	t.Run("plain rows, nil slices", func(t *testing.T) {
		checkValues(t, "plain", []any{
			verdict{ID: 1 << 40, Small: -7, Label: "rock"},
			verdict{ID: -1, Small: math.MaxInt16, Notes: []string{}, Label: "scissors"},
		})
	})
	t.Run("fields of all types", func(t *testing.T) {
		checkValues(t, "types", []any{ruling{"rock", []byte{}, Remark{"e"}, allKinds}, ruling{Label: "paper"}})
		failed := collected("types failed")
		if len(failed) != 1 || !reflect.DeepEqual(failed[0].value.(ensemble.Failed[hearing]).Element, hearings[2]) {
			t.Errorf("gives %+v as failed, not %+v", failed, hearings[2])
		}
	})
	t.Run("keys", checkKeyed)
	t.Run("pass-through and prefix", func(t *testing.T) {
		checkValues(t, "kept", []any{winner{"first", "paper"}, winner{"second", "scissors"}})
	})
	t.Run("event times", func(t *testing.T) {
		checkTimes(t, "many", func(int) beam.Window { return window.GlobalWindow{} })
	})
	t.Run("windows", func(t *testing.T) {
		checkTimes(t, "windowed", func(id int) beam.Window {
			minute := mtime.Time(id / 60 * 60_000)
			return window.IntervalWindow{Start: minute, End: minute + 60_000}
		})
	})
	t.Run("bad rows", func(t *testing.T) { checkBadRows(t, "many") })
	t.Run("bad rows in windows", func(t *testing.T) { checkBadRows(t, "windowed") })
	t.Run("models", checkModels)
}

// badTurns are those of manyTurns that cannot be scored.
var badTurns = []int{3, 500, 8999}

// manyTurns are more than two batches.
func manyTurns() []turn {
	turns := make([]turn, 9000)
	for i := range turns {
		turns[i] = turn{ID: i, Chances: []float64{0.1, 0.2, 0.7}}
	}
	turns[badTurns[0]].Chances = nil
	turns[badTurns[1]].Chances = []float64{1}
	turns[badTurns[2]].Chances = []float64{0.5, 0.25, 0.25, 0}
	return turns
}

// checkValues compares the values of a collection, in any order.
func checkValues(t *testing.T, name string, want []any) {
	t.Helper()
	got := collected(name)
	if len(got) != len(want) {
		t.Errorf("gives %d rows, not %d", len(got), len(want))
	}
	for _, one := range want {
		if !slices.ContainsFunc(got, func(e element) bool { return reflect.DeepEqual(e.value, one) }) {
			t.Errorf("does not give %+v, but %+v", one, got)
		}
	}
}

func checkKeyed(t *testing.T) {
	checkValues(t, "keyed", outcomes)
	failed := collected("keyed failed")
	for _, one := range append(slices.Clone(collected("keyed")), failed...) {
		if one.key != 0 {
			t.Errorf("gives the key %v (%T), not 0", one.key, one.key)
		}
	}
	if len(failed) != 1 || !reflect.DeepEqual(failed[0].value.(ensemble.Failed[game]).Element, games[2]) {
		t.Errorf("gives %+v as failed, not %+v", failed, games[2])
	}
}

func checkTimes(t *testing.T, name string, windowOf func(id int) beam.Window) {
	t.Helper()
	for _, one := range append(slices.Clone(collected(name)), collected(name+" failed")...) {
		id := 0
		switch row := one.value.(type) {
		case verdict:
			id = row.ID
		case ensemble.Failed[turn]:
			id = row.Element.ID
		}
		if one.time != mtime.Time(id*1000) {
			t.Fatalf("row %d has the time %v", id, one.time)
		}
		if want := windowOf(id); one.window != want {
			t.Fatalf("row %d is in the window %v, not %v", id, one.window, want)
		}
	}
}

func checkBadRows(t *testing.T, name string) {
	t.Helper()
	if got, want := len(collected(name)), len(manyTurns())-len(badTurns); got != want {
		t.Errorf("scores %d rows, not %d", got, want)
	}
	var ids []int
	for _, one := range collected(name + " failed") {
		row := one.value.(ensemble.Failed[turn])
		ids = append(ids, row.Element.ID)
		if row.Ensemble != "ballots" || row.Code == "" || row.Msg == "" {
			t.Errorf("does not say why a row failed: %+v", row)
		}
		if sent := manyTurns()[row.Element.ID]; !reflect.DeepEqual(row.Element, sent) {
			t.Errorf("gives the row %+v back as %+v", sent, row.Element)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, badTurns) {
		t.Errorf("puts the rows %v aside, not %v", ids, badTurns)
	}
}

func checkModels(t *testing.T) {
	got := collected("models")
	if len(got) != 2 {
		t.Fatalf("gives %d rows, not 2", len(got))
	}
	for _, one := range got {
		row := one.value.(sorted)
		best := slices.Max(row.All)
		if len(row.All) != 3 || math.Abs(best-row.Weighted) > 1e-6 || math.Abs(row.All[0]+row.All[1]+row.All[2]-1) > 1e-6 {
			t.Errorf("gives %+v, whose probabilities do not agree", row)
		}
		if want := []string{"no", "yes", "maybe"}[slices.Index(row.All, best)]; row.Answer != want {
			t.Errorf("gives %+v, whose answer is not %q", row, want)
		}
	}
}

func TestIntegrationFailsWithTheMessageOfTheRow(t *testing.T) {
	err := runPipeline(t, func(s beam.Scope) {
		collect(s, "none", ensemble.Run[outcome](s, beam.CreateList(s, games), ensemble.FromText(ballots, "")))
	})
	if err == nil || !strings.Contains(err.Error(), "chances") {
		t.Errorf("a bad row fails the pipeline with %v", err)
	}
}

func TestIntegrationStartsAServiceByItself(t *testing.T) {
	needServers(t)
	if os.Getenv("BEAM_ENSEMBLES_PYTHON") == "" {
		t.Skip("BEAM_ENSEMBLES_PYTHON is not set: it says which Python has the service")
	}
	t.Setenv(addrVariable, "")
	_, s := beam.NewPipelineWithRoot()
	_, err := ensemble.TryRun[sorted](s, beam.Create(s, turn{}), ensemble.FromFile("../../tests/golden/specs/votes.yaml"))
	want := ensemble.Problem{Code: "missing_field", Path: "input.x"}
	var problems *ensemble.Error
	if !errors.As(err, &problems) || len(problems.Problems) == 0 || problems.Problems[0].Code != want.Code ||
		problems.Problems[0].Path != want.Path {
		t.Errorf("the service that it starts says %v, not %v", err, want)
	}
}
