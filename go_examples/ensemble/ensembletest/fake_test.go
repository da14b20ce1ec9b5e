package ensembletest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/ensembletest"
)

// game is a row of votes.yaml, with fields that the ensemble does not read, one
// of which no model could.
type game struct {
	ID      int64     `beam:"id"`
	Chances []float64 `beam:"chances"`
	Moves   []move    `beam:"moves"`
	Start   time.Time `beam:"start"`
	Note    *string   `beam:"note"`
	Hash    uint64    `beam:"hash"`
}

type move struct {
	Name string   `beam:"name"`
	Odds *float64 `beam:"odds"`
}

// verdict is a scored game.
type verdict struct {
	ID         int64     `beam:"id"`
	Moves      []move    `beam:"moves"`
	Start      time.Time `beam:"start"`
	Note       *string   `beam:"note"`
	Hash       uint64    `beam:"hash"`
	Label      string    `beam:"label"`
	Confidence float64   `beam:"confidence"`
}

// gameID is a scored game without answers.
type gameID struct {
	ID int64 `beam:"id"`
}

type provenance struct {
	Ensemble      string            `beam:"ensemble"`
	Digest        string            `beam:"digest"`
	Route         map[string]string `beam:"route"`
	ErrorsIgnored []string          `beam:"errors_ignored"`
}

type traced struct {
	ID         int64      `beam:"id"`
	Provenance provenance `beam:"provenance"`
}

// risk is a row that another ensemble, fraud, has scored.
type risk struct {
	Risk float64 `beam:"f_risk"`
}

// chances are what the function of the tests takes, vote what it returns.
type chances struct {
	Chances []float64 `beam:"chances"`
}

type vote struct {
	Label      string  `beam:"label"`
	Confidence float64 `beam:"confidence"`
}

var (
	file  = ensemble.FromFile("../testdata/votes.yaml")
	start = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	odds  = 0.5
	note  = "late"
	games = []game{
		{1, []float64{0.1, 0.7, 0.2}, []move{{"up", &odds}, {"down", nil}}, start, &note, 1 << 63},
		{2, []float64{0.1, 0.1, 0.8}, []move{}, start, nil, 2},
		{3, []float64{1}, []move{}, start, nil, 3},
		{4, []float64{0, 0, 0}, []move{}, start, nil, 4},
	}
	verdicts = []any{
		verdict{1, games[0].Moves, start, &note, 1 << 63, "paper", 0.7},
		verdict{2, []move{}, start, nil, 2, "scissors", 0.8},
	}
)

func votes(in chances) (vote, error) {
	best := slices.Max(in.Chances)
	if best == 0 {
		return vote{}, &ensembletest.Failure{Node: "vote", Code: ensemble.CodeQuorumMissed, Msg: "nobody votes"}
	}
	return vote{[]string{"rock", "paper", "scissors"}[slices.Index(in.Chances, best)], best}, nil
}

func why(f ensemble.Failed[game]) string {
	return fmt.Sprintf("%d %s %s %s: %s", f.Element.ID, f.Ensemble, f.Node, f.Code, f.Msg)
}

func keyed(g game) (string, game)                            { return fmt.Sprint(g.ID), g }
func keyedVerdict(key string, v verdict) string              { return key + " " + v.Label }
func keyedFailed(key string, f ensemble.Failed[game]) string { return key + " " + f.Code }
func timed(g game) (beam.EventTime, game)                    { return beam.EventTime(g.ID * 1000), g }
func atTime(w beam.Window, t beam.EventTime, v verdict) string {
	return fmt.Sprint(v.ID, " ", t.Milliseconds(), " ", w.MaxTimestamp().Milliseconds())
}

func init() {
	beam.RegisterType(reflect.TypeFor[game]())
	beam.RegisterType(reflect.TypeFor[*game]())
	beam.RegisterType(reflect.TypeFor[verdict]())
	beam.RegisterType(reflect.TypeFor[traced]())
	beam.RegisterType(reflect.TypeFor[risk]())
	beam.RegisterType(reflect.TypeFor[ensemble.Failed[game]]())
	register.Function1x1(why)
	register.Function1x2(keyed)
	register.Function2x1(keyedVerdict)
	register.Function2x1(keyedFailed)
	register.Function1x2(timed)
	register.Function3x1(atTime)
}

func TestMain(m *testing.M) { ptest.Main(m) }

func TestFakeAnswersByAFunction(t *testing.T) {
	for _, encoding := range []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow} {
		for name, answers := range map[string]*ensembletest.Answers{
			"types": ensembletest.Func(votes), "plan": ensembletest.Func(votes).WithPlan("testdata/votes.plan.json"),
		} {
			t.Run(string(encoding)+" "+name, func(t *testing.T) {
				fake := ensembletest.Fake(t, answers)
				pipeline, s, rows := ptest.CreateList(games)
				scored, failed := ensemble.RunWithErrors[verdict](s, rows, file,
					ensemble.WithExpansionAddr(fake.Addr()), ensemble.WithEncoding(encoding))
				third := any("3 votes  wrong_length: input 'chances' holds 1 values, but needs 3")
				if name == "types" { // which do not tell the length
					third = nil
				}
				want := []any{verdicts[0], verdicts[1]}
				fails := []any{"4 votes vote quorum_missed: nobody votes"}
				if third == nil {
					want = append(want, verdict{3, []move{}, start, nil, 3, "rock", 1})
				} else {
					fails = append(fails, third)
				}
				passert.Equals(s, scored, want...)
				passert.Equals(s, beam.ParDo(s, why, failed), fails...)
				ptest.RunAndValidate(t, pipeline)
			})
		}
	}
}

func TestFakeAnswersByRows(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Rows(verdicts[0].(verdict), verdicts[1].(verdict)))
	pipeline, s, rows := ptest.CreateList(games[:2])
	passert.Equals(s, ensemble.Run[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr())), verdicts...)
	ptest.RunAndValidate(t, pipeline)

	pipeline, s, rows = ptest.CreateList(games[2:3])
	ensemble.RunWithErrors[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()))
	if err := ptest.Run(pipeline); err == nil || !strings.Contains(err.Error(), "no answer is given for the row {ID:3") {
		t.Errorf("says %v", err)
	}
}

func TestFakeTakesTheTypesOfTheProgram(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Func(func(g game) (verdict, error) {
		return verdict{Label: fmt.Sprint(g.Hash), Confidence: float64(len(g.Moves))}, nil
	}).WithPlan("testdata/votes.plan.json"))
	pipeline, s, rows := ptest.CreateList(games[1:2])
	scored := ensemble.Run[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()))
	passert.Equals(s, scored, verdict{2, []move{}, start, nil, 2, "2", 0})
	ptest.RunAndValidate(t, pipeline)
}

func TestAFailedRowFailsAPipelineWithoutErrors(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Func(func(chances) (vote, error) { return vote{}, errors.New("no model") }))
	pipeline, s, rows := ptest.CreateList(games)
	ensemble.Run[verdict](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()))
	want := "the ensemble 'votes' failed on a row: [model_error] : no model"
	if err := ptest.Run(pipeline); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("says %v, not %q", err, want)
	}
}

func TestFakeKeepsKeysTimesAndWindows(t *testing.T) {
	t.Setenv("BEAM_ENSEMBLES_ADDR", ensembletest.Fake(t, ensembletest.Func(votes)).Addr())
	pipeline, s, rows := ptest.CreateList([]game{games[0], games[3]})
	scored, failed := ensemble.RunWithErrors[verdict](s, beam.ParDo(s, keyed, rows), file)
	passert.Equals(s, beam.ParDo(s, keyedVerdict, scored), "1 paper")
	passert.Equals(s, beam.ParDo(s, keyedFailed, failed), "4 quorum_missed")
	later := beam.WindowInto(s, window.NewFixedWindows(10*time.Second), beam.ParDo(s, timed, beam.CreateList(s, games[:2])))
	passert.Equals(s, beam.WindowInto(s, window.NewGlobalWindows(), beam.ParDo(s, atTime, ensemble.Run[verdict](s, later, file))),
		"1 1000 9999", "2 2000 9999")
	ptest.RunAndValidate(t, pipeline)
}

func TestFakesOfSeveralEnsembles(t *testing.T) {
	fake := ensembletest.Fake(t,
		ensembletest.Func(votes).For("votes"),
		ensembletest.Rows(struct {
			ID   int64   `beam:"id"`
			Risk float64 `beam:"risk"`
		}{1, 0.5}).For("fraud"))
	fraud := ensemble.FromText("ensemble: fraud", "")
	pipeline, s, rows := ptest.CreateList(games[:1])
	addr := ensemble.WithExpansionAddr(fake.Addr())
	passert.Equals(s, ensemble.Run[verdict](s, rows, file, addr), verdicts[0])
	passert.Equals(s, ensemble.Run[risk](s, rows, fraud, addr, ensemble.WithPrefix("f_")), risk{0.5})
	_, err := ensemble.TryRun[risk](s, rows, ensemble.FromText("ensemble: other", ""), addr)
	checkSays(t, err, "no answers for the ensemble 'other' (it has those for: 'votes', 'fraud')")
	ptest.RunAndValidate(t, pipeline)
}

func TestFakeFindsFieldsOfRowsInRowsByName(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Func(func(g gameMoves) (bestMove, error) { return bestMove{g.Moves[1]}, nil }))
	rows := turned{[]turnedMove{{&odds, "up"}, {nil, "down"}}}
	pipeline, s, games := ptest.CreateList([]turned{rows})
	scored := ensemble.Run[turnedBest](s, games, file, ensemble.WithExpansionAddr(fake.Addr()))
	passert.Equals(s, scored, turnedBest{rows.Moves, turnedMove{nil, "down"}})
	ptest.RunAndValidate(t, pipeline)
}

func TestFakeKnowsProvenance(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Func(votes))
	pipeline, s, rows := ptest.CreateList(games[:1])
	scored := ensemble.Run[traced](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()), ensemble.WithProvenance())
	passert.Equals(s, scored, traced{1, provenance{"votes", "fake", map[string]string{}, []string{}}})
	ptest.RunAndValidate(t, pipeline)
}

// The types of calls that are refused.
type odd struct {
	Chances []string `beam:"chances"`
}

// turned has the fields of a move in another order.
type turned struct {
	Moves []turnedMove `beam:"moves"`
}

type turnedBest struct {
	Moves []turnedMove `beam:"moves"`
	Best  turnedMove   `beam:"best"`
}

type renamed struct {
	Moves []renamedMove `beam:"moves"`
}

type gameMoves struct {
	Moves []move `beam:"moves"`
}

type bestMove struct {
	Best move `beam:"best"`
}

type turnedMove struct {
	Odds *float64 `beam:"odds"`
	Name string   `beam:"name"`
}

type renamedMove struct {
	Odds  *float64 `beam:"odds"`
	Title string   `beam:"title"`
}

type lacking struct {
	Chanses []float64 `beam:"chanses"`
}

type opaque struct {
	Chances uint64 `beam:"chances"`
}

type hidden struct {
	chances []float64 `beam:"chances"`
	ID      int64     `beam:"id"`
}

type taken struct {
	Chances []float64 `beam:"chances"`
	Label   string    `beam:"label"`
}

type label struct {
	Label string `beam:"label"`
}

type misspelt struct {
	Lable string `beam:"lable"`
}

type number struct {
	Label int64 `beam:"label"`
}

type maybe struct {
	Label *string `beam:"label"`
}

type big struct {
	Label uint64 `beam:"label"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[odd]())
	beam.RegisterType(reflect.TypeFor[turned]())
	beam.RegisterType(reflect.TypeFor[turnedBest]())
	beam.RegisterType(reflect.TypeFor[renamed]())
	beam.RegisterType(reflect.TypeFor[lacking]())
	beam.RegisterType(reflect.TypeFor[opaque]())
	beam.RegisterType(reflect.TypeFor[hidden]())
	beam.RegisterType(reflect.TypeFor[taken]())
	beam.RegisterType(reflect.TypeFor[label]())
	beam.RegisterType(reflect.TypeFor[misspelt]())
	beam.RegisterType(reflect.TypeFor[number]())
	beam.RegisterType(reflect.TypeFor[maybe]())
	beam.RegisterType(reflect.TypeFor[big]())
	beam.RegisterType(reflect.TypeFor[gameID]())
}

// TestFakeRefusesWhatAServiceRefuses has the codes of the service.
func TestFakeRefusesWhatAServiceRefuses(t *testing.T) {
	text := func(text string) ensemble.Source { return ensemble.FromText(text, "") }
	asked := ensembletest.Func(votes)
	asksMoves := ensembletest.Func(func(gameMoves) (vote, error) { return vote{}, nil })
	nullable := ensembletest.Func(func(chances) (maybe, error) { return maybe{}, nil })
	for name, c := range map[string]struct {
		answers *ensembletest.Answers
		row     any
		file    ensemble.Source
		run     func(beam.Scope, beam.PCollection, ensemble.Source, ...ensemble.Option) (beam.PCollection, error)
		options []ensemble.Option
		code    string
		says    string
	}{
		"a type":     {row: odd{}, code: ensemble.CodeFieldType, says: "array<string>, and the ensemble declares array<double>;"},
		"a field":    {row: renamed{}, answers: asksMoves, code: ensemble.CodeFieldType, says: "rows in rows need the same fields"},
		"a name":     {row: lacking{}, code: ensemble.CodeMissingField, says: "did you mean 'chanses'?"},
		"opaque":     {row: opaque{}, code: ensemble.CodeOpaqueField, says: "its type uint64 cannot cross"},
		"unexported": {row: hidden{}, code: ensemble.CodeMissingField, says: "is unexported"},
		"there":      {row: taken{}, code: ensemble.CodeColumnExists, says: "a field 'label' already"},
		"an output":  {run: ensemble.TryRun[misspelt], code: ensemble.CodeOutputSchemaMismatch, says: "did you mean 'label'?"},
		"its type":   {run: ensemble.TryRun[number], code: ensemble.CodeOutputSchemaMismatch, says: "as int64, but the ensemble gives string"},
		"nulls":      {answers: nullable, code: ensemble.CodeOutputSchemaMismatch, says: "gives string?"},
		"no column": {
			answers: ensembletest.Func(func(game) (big, error) { return big{}, nil }), run: ensemble.TryRun[gameID],
			code: ensemble.CodeNotPortable, says: "uint64",
		},
		"a parameter": {
			file: text("ensemble: votes\nx: ${day}"), code: ensemble.CodeUnknownParameter, says: "did you mean 'day'?",
			options: []ensemble.Option{ensemble.WithParameters(map[string]string{"dya": "1", "day": "2"})},
		},
		"no parameter": {
			file: text("ensemble: votes\n# ${year}\nx: ${day} # ${month}"), code: ensemble.CodeMissingParameter, says: "'day' (given: none)",
		},
		"a parameter of the plan": {
			answers: asked.WithPlan("testdata/votes.plan.json"), code: ensemble.CodeUnknownParameter, says: "(it has: none)",
			options: []ensemble.Option{ensemble.WithParameters(map[string]string{"day": "2"})},
		},
		"columns": {
			code: ensemble.CodeUnknownColumn, says: "no input 'chance'; did you mean 'chances'?",
			options: []ensemble.Option{ensemble.WithColumns(map[string]string{"chance": "id"})},
		},
		"pass through": {
			code: ensemble.CodeMissingField, says: "no field 'idd'; did you mean 'id'?",
			options: []ensemble.Option{ensemble.WithPassThrough("idd")},
		},
		"dropped": {
			run: ensemble.TryRun[verdict], code: ensemble.CodeOutputSchemaMismatch, says: "'moves'",
			options: []ensemble.Option{ensemble.WithPassThrough("id", "start", "note", "hash")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.answers == nil {
				c.answers = asked
			}
			if c.row == nil {
				c.row = game{}
			}
			if c.file == nil {
				c.file = file
			}
			if c.run == nil {
				c.run = ensemble.TryRun[label]
			}
			fake := ensembletest.Fake(t, c.answers)
			_, s := beam.NewPipelineWithRoot()
			_, err := c.run(s, beam.Create(s, c.row), c.file, append(c.options, ensemble.WithExpansionAddr(fake.Addr()))...)
			checkSays(t, err, c.says)
			if c.code == ensemble.CodeOutputSchemaMismatch {
				checkSays(t, err, "the caller's type does not fit the output of ensemble 'votes': 1 problem")
			}
			var refused *ensemble.Error
			if !errors.As(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Code != c.code {
				t.Errorf("gives %v, not one problem with the code %s", err, c.code)
			}
			if os.Getenv("BEAM_ENSEMBLES_PRISM") == "" || c.file != file || c.answers != asked {
				return // There is no real service, or the ensemble is none of its.
			}
			_, s = beam.NewPipelineWithRoot()
			_, err = c.run(s, beam.Create(s, c.row), c.file, c.options...)
			if !errors.As(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Code != c.code {
				t.Errorf("the real service gives %v, not one problem with the code %s", err, c.code)
			}
		})
	}
	_ = hidden{}.chances
}

func TestAFileThatIsNotThereIsTold(t *testing.T) {
	fake := ensembletest.Fake(t, ensembletest.Func(votes))
	_, s := beam.NewPipelineWithRoot()
	_, err := ensemble.TryRun[verdict](s, beam.Create(s, games[0]), ensemble.FromFile("none.yaml"),
		ensemble.WithExpansionAddr(fake.Addr()))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gives %v", err)
	}
}

// recorder is a testing.TB that remembers why a test ends.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	panic(r)
}

func TestFakeRefusesAnswersThatCannotBe(t *testing.T) {
	type number struct {
		Label int64 `beam:"label"`
	}
	type wrong struct {
		Chances string `beam:"chances"`
	}
	type more struct {
		Sum float64 `beam:"sum"`
	}
	const plan = "testdata/votes.plan.json"
	broken := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(broken, []byte(`{"ensemble": "x", "inputs": {"a": "array<"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var noFunc func(chances) (vote, error)
	for want, answers := range map[string][]*ensembletest.Answers{
		"needs answers":               nil,
		"the answers are nil":         {nil},
		"for any ensemble; name":      {ensembletest.Func(votes), ensembletest.Func(votes)},
		"for the ensemble 'a'":        {ensembletest.Func(votes).For("a"), ensembletest.Func(votes).For("a")},
		"In is a struct, not int":     {ensembletest.Func(func(int) (vote, error) { return vote{}, nil })},
		"Func is nil":                 {ensembletest.Func(noFunc)},
		"the plan cannot be read":     {ensembletest.Func(votes).WithPlan("none.json")},
		"is not the plan":             {ensembletest.Func(votes).WithPlan("../testdata/votes.yaml")},
		"column 'a': \"array<\"":      {ensembletest.Func(votes).WithPlan(broken)},
		"the output 'label' as str":   {ensembletest.Func(func(chances) (number, error) { return number{}, nil }).WithPlan(plan)},
		"the input 'chances' as arr":  {ensembletest.Func(func(wrong) (vote, error) { return vote{}, nil }).WithPlan(plan)},
		"'sum', which the plan lacks": {ensembletest.Func(func(chances) (more, error) { return more{}, nil }).WithPlan(plan)},
	} {
		r := &recorder{}
		func() {
			defer func() { _ = recover() }()
			ensembletest.Fake(r, answers...)
		}()
		if !strings.Contains(r.said, want) {
			t.Errorf("says %q, not %q", r.said, want)
		}
	}
}

// TestEveryFunctionHasAnExample reads the package's files.
func TestEveryFunctionHasAnExample(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	functions := regexp.MustCompile(`(?m)^func ([A-Z]\w*)[(\[]`).FindAllStringSubmatch(all.String(), -1)
	checked := 0
	for _, function := range functions {
		name := function[1]
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") {
			continue
		}
		checked++
		if !strings.Contains(all.String(), "func Example"+name+"()") {
			t.Errorf("%s has no example", name)
		}
	}
	if checked < 4 {
		t.Errorf("finds %d functions only", checked)
	}
}

func checkSays(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("says %v, not %q", err, want)
	}
}
