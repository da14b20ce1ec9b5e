package ensembletest

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[scoreFn]())
	beam.RegisterDoFn(reflect.TypeFor[scoreKeyedFn]())
	beam.RegisterDoFn(reflect.TypeFor[tryScoreFn]())
	beam.RegisterDoFn(reflect.TypeFor[tryScoreKeyedFn]())
}

// apply adds the step that scores rows to a pipeline.
func (e *expansion) apply(s beam.Scope, key string, rows beam.PCollection) (scored, failed beam.PCollection, err error) {
	keyed, types := typex.IsKV(rows.Type()), []beam.Option{beam.TypeDefinition{Var: beam.YType, T: e.call.Scored}}
	var fn any
	switch {
	case e.call.Failed == nil && keyed:
		fn = &scoreKeyedFn{Key: key}
	case e.call.Failed == nil:
		fn = &scoreFn{Key: key}
	case keyed:
		fn = &tryScoreKeyedFn{Key: key}
	default:
		fn = &tryScoreFn{Key: key}
	}
	if e.call.Failed != nil {
		types = append(types, beam.TypeDefinition{Var: beam.ZType, T: e.call.Failed})
	}
	outputs, err := beam.TryParDo(s, fn, rows, types...)
	if err != nil {
		return scored, failed, err
	}
	return outputs[0], outputs[len(outputs)-1], nil
}

// scoreFn scores rows. A row that cannot be scored fails its bundle.
type scoreFn struct {
	// Key is that of the expansion.
	Key string

	expansion *expansion
}

// Setup finds the expansion.
func (f *scoreFn) Setup() (err error) {
	f.expansion, err = expansionOf(f.Key)
	return err
}

// ProcessElement scores a row.
func (f *scoreFn) ProcessElement(row beam.X) (beam.Y, error) { return f.expansion.score(row) }

// scoreKeyedFn does the same for keyed rows.
type scoreKeyedFn struct {
	Key string

	expansion *expansion
}

// Setup finds the expansion.
func (f *scoreKeyedFn) Setup() (err error) {
	f.expansion, err = expansionOf(f.Key)
	return err
}

// ProcessElement scores a row.
func (f *scoreKeyedFn) ProcessElement(key beam.W, row beam.X) (beam.W, beam.Y, error) {
	scored, err := f.expansion.score(row)
	return key, scored, err
}

// tryScoreFn scores rows, and emits those that cannot be scored apart.
type tryScoreFn struct {
	Key string

	expansion *expansion
}

// Setup finds the expansion.
func (f *tryScoreFn) Setup() (err error) {
	f.expansion, err = expansionOf(f.Key)
	return err
}

// ProcessElement scores a row.
func (f *tryScoreFn) ProcessElement(row beam.X, scored func(beam.Y), failed func(beam.Z)) error {
	answer, failure, err := f.expansion.tryScore(row)
	switch {
	case err != nil:
		return err
	case failure != nil:
		failed(failure)
	default:
		scored(answer)
	}
	return nil
}

// tryScoreKeyedFn does the same for keyed rows.
type tryScoreKeyedFn struct {
	Key string

	expansion *expansion
}

// Setup finds the expansion.
func (f *tryScoreKeyedFn) Setup() (err error) {
	f.expansion, err = expansionOf(f.Key)
	return err
}

// ProcessElement scores a row.
func (f *tryScoreKeyedFn) ProcessElement(
	key beam.W, row beam.X, scored func(beam.W, beam.Y), failed func(beam.W, beam.Z),
) error {
	answer, failure, err := f.expansion.tryScore(row)
	switch {
	case err != nil:
		return err
	case failure != nil:
		failed(key, failure)
	default:
		scored(key, answer)
	}
	return nil
}

// noAnswer is the error of a row for which a test gives no answer: its mistake,
// not the row's.
type noAnswer struct{ row any }

func (e noAnswer) Error() string {
	return fmt.Sprintf("ensembletest: no answer is given for the row %+v", e.row)
}

// score returns the scored row, or an error for a row that cannot be scored.
func (e *expansion) score(row any) (scored any, err error) {
	answer, err := e.scored(reflect.Indirect(reflect.ValueOf(row)))
	if failure, ok := e.failure(err); ok {
		return nil, fmt.Errorf("ensembletest: the ensemble '%s' failed on a row: %w", e.call.Ensemble, &failure)
	}
	return answer, err
}

// tryScore returns the scored row, or the failed one.
func (e *expansion) tryScore(row any) (scored, failed any, err error) {
	scored, err = e.scored(reflect.Indirect(reflect.ValueOf(row)))
	failure, ok := e.failure(err)
	if !ok {
		return scored, nil, err
	}
	told := reflect.New(e.call.Failed).Elem()
	told.FieldByName("Element").Set(reflect.ValueOf(row))
	for name, text := range map[string]string{
		"Ensemble": e.call.Ensemble, "Node": failure.Node, "Code": failure.Code, "Msg": failure.Msg,
	} {
		told.FieldByName(name).SetString(text)
	}
	return nil, told.Interface(), nil
}

// failure returns what makes a row fail.
func (e *expansion) failure(err error) (Failure, bool) {
	if _, isTests := err.(noAnswer); err == nil || isTests {
		return Failure{}, false
	}
	return failureOf(err), true
}

// scored returns the scored row of a row.
func (e *expansion) scored(row reflect.Value) (any, error) {
	answer, err := e.answer(row)
	if err != nil {
		return nil, err
	}
	scored := reflect.New(e.call.Scored).Elem()
	for _, field := range e.fields {
		from := row
		switch {
		case field.added && field.from == nil:
			from = provenanceOf(e.call.Ensemble)
		case field.added:
			from = answer.FieldByIndex(field.from)
		default:
			from = row.FieldByIndex(field.from)
		}
		if err := put(from, scored.FieldByIndex(field.to.Index), field.to.Name); err != nil {
			return nil, err
		}
	}
	return scored.Interface(), nil
}

// answer returns the answer for a row.
func (e *expansion) answer(row reflect.Value) (answer reflect.Value, err error) {
	for _, one := range e.inputs {
		if one.declared == nil {
			continue
		}
		if err := check(row.FieldByIndex(one.field.Index), *one.declared, one.name); err != nil {
			return answer, err
		}
	}
	if e.answers.in == nil {
		return e.find(row)
	}
	in := reflect.New(e.answers.in).Elem()
	for _, one := range e.inputs {
		if one.into == nil {
			continue
		}
		if err := put(row.FieldByIndex(one.field.Index), in.FieldByIndex(one.into), one.name); err != nil {
			return answer, err
		}
	}
	return e.answers.answer(in)
}

// find returns the answer with the values of a row.
func (e *expansion) find(row reflect.Value) (reflect.Value, error) {
	for _, answer := range e.answers.rows {
		same := true
		for _, one := range e.inputs {
			if one.into == nil {
				continue
			}
			wanted := answer.FieldByIndex(one.into)
			found := reflect.New(wanted.Type()).Elem()
			same = same && put(row.FieldByIndex(one.field.Index), found, one.name) == nil && equal(found, wanted)
		}
		if same {
			return answer, nil
		}
	}
	return reflect.Value{}, noAnswer{row.Interface()}
}
