package ensembletest

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/fakes"
)

// FakeService takes the place of an expansion service in one test.
type FakeService struct {
	addr    string
	answers []*Answers

	mu sync.Mutex
	// expanded are the keys of the expansions that its pipelines use.
	expanded []string
}

// Fake answers the calls of ensembles at an address until the test ends. Pass
// the address with ensemble.WithExpansionAddr; for pipelines without options of
// their own, set the environment variable BEAM_ENSEMBLES_ADDR with t.Setenv.
//
// Answers without a name are for all ensembles for which no others are.
//
// The scored rows are made in the test's process, by whatever runner executes
// the pipeline's Go steps there: Beam's local runner, ptest, or any runner with
// --environment_type=LOOPBACK. Encodings, TLS and tokens are left out, and so
// are the counts of ensemble.Metrics.
func Fake(t testing.TB, answers ...*Answers) *FakeService {
	t.Helper()
	if len(answers) == 0 {
		t.Fatal("ensembletest.Fake needs answers: those of ensembletest.Func or ensembletest.Rows")
	}
	names := map[string]bool{}
	for _, one := range answers {
		switch {
		case one == nil:
			t.Fatal("ensembletest.Fake: the answers are nil")
		case one.err != nil:
			t.Fatalf("ensembletest.Fake: %v", one.err)
		case names[one.ensemble] && one.ensemble == "":
			t.Fatal("ensembletest.Fake: two answers are for any ensemble; name theirs with For or WithPlan")
		case names[one.ensemble]:
			t.Fatalf("ensembletest.Fake: two answers are for the ensemble '%s'", one.ensemble)
		}
		names[one.ensemble] = true
	}
	f := &FakeService{answers: answers}
	addr, stop := fakes.Serve(f)
	f.addr = addr
	t.Cleanup(func() {
		stop()
		f.forget()
	})
	return f
}

// Addr returns the address of the fake. It leads nowhere in other processes.
func (f *FakeService) Addr() string { return f.addr }

// Expand scores rows with the answers for the ensemble of a call. Package
// ensemble calls it.
func (f *FakeService) Expand(
	s beam.Scope, rows beam.PCollection, call fakes.Call,
) (scored, failed beam.PCollection, refusal string) {
	answers := f.of(call.Ensemble)
	if answers == nil {
		var names []string
		for _, one := range f.answers {
			names = append(names, "'"+one.ensemble+"'")
		}
		return scored, failed, "ensembletest: the fake has no answers for the ensemble '" + call.Ensemble +
			"' (it has those for: " + listed(names) + ")"
	}
	e, problems := bind(answers, call)
	if len(problems) > 0 {
		return scored, failed, refused(call.Ensemble, problems)
	}
	key := f.remember(e)
	scored, failed, err := e.apply(s.Scope(call.Ensemble), key, rows)
	if err != nil {
		return scored, failed, "ensembletest: " + err.Error()
	}
	return scored, failed, ""
}

// of returns the answers for an ensemble, or nil.
func (f *FakeService) of(name string) *Answers {
	for _, wanted := range []string{name, ""} {
		at := slices.IndexFunc(f.answers, func(a *Answers) bool { return a.ensemble == wanted })
		if at >= 0 {
			return f.answers[at]
		}
	}
	return nil
}

// expansions are those of the fakes of this process, by their keys.
var (
	expansions sync.Map
	expanded   atomic.Int64
)

func (f *FakeService) remember(e *expansion) (key string) {
	key = strconv.FormatInt(expanded.Add(1), 10)
	expansions.Store(key, e)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expanded = append(f.expanded, key)
	return key
}

func (f *FakeService) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.expanded {
		expansions.Delete(key)
	}
}

// expansionOf returns the expansion that a step of a pipeline is of.
func expansionOf(key string) (*expansion, error) {
	found, _ := expansions.Load(key)
	e, ok := found.(*expansion)
	if !ok {
		return nil, errors.New("ensembletest: the fake of this step is gone: its test has ended, or the step runs in " +
			"another process; run the pipeline in the test, on the local runner or with --environment_type=LOOPBACK")
	}
	return e, nil
}

// refused is the text of a refusal, as a service writes it.
func refused(ensemble string, problems []problem) string {
	text := ""
	switch name := "ensemble '" + ensemble + "'"; {
	case all(problems, func(code string) bool { return ofRows[code] }):
		text = "the rows do not fit " + name
	case all(problems, func(code string) bool { return code == codeOfOutput }):
		text = "the caller's type does not fit the output of " + name
	default:
		text = name + " is not valid"
	}
	text += ": " + strconv.Itoa(len(problems)) + " problem"
	if len(problems) > 1 {
		text += "s"
	}
	var lines strings.Builder
	for _, one := range problems {
		lines.WriteString("\n  [" + one.code + "] " + one.path + ": " + one.message)
	}
	return text + lines.String()
}

func all(problems []problem, is func(code string) bool) bool {
	return !slices.ContainsFunc(problems, func(one problem) bool { return !is(one.code) })
}

// codeOfOutput is the code of problems of the type that the caller decodes.
const codeOfOutput = ensemble.CodeOutputSchemaMismatch

// ofRows has the codes of problems of which the rows are the cause.
var ofRows = map[string]bool{
	ensemble.CodeMissingField: true, ensemble.CodeFieldType: true, ensemble.CodeOpaqueField: true,
	ensemble.CodeColumnExists: true, ensemble.CodeUnknownColumn: true, ensemble.CodeBadName: true,
}

// problem is one thing that is wrong with a call.
type problem struct{ code, path, message string }

// provenance is what the column of ensemble.WithProvenance holds.
type provenance struct {
	Ensemble      string            `beam:"ensemble"`
	Digest        string            `beam:"digest"`
	Route         map[string]string `beam:"route"`
	ErrorsIgnored []string          `beam:"errors_ignored"`
}

const provenanceColumn = "provenance"

func provenanceOf(ensemble string) reflect.Value {
	return reflect.ValueOf(provenance{ensemble, "fake", map[string]string{}, []string{}})
}
