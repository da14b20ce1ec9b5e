package ensembletest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// Answers are what a fake ensemble answers. Func and Rows make them.
type Answers struct {
	// ensemble is the one that they are for, empty for any.
	ensemble string
	plan     *plan
	// in is the type of what answer takes, nil where the answers are rows.
	in, out reflect.Type
	answer  func(in reflect.Value) (out reflect.Value, err error)
	rows    []reflect.Value
	// err is what is wrong with the answers.
	err error
}

// Failure is the error of a row that cannot be scored, with what its
// ensemble.Failed says. A function of Func that returns any other error has the
// row fail with the code model_error.
type Failure struct {
	// Node names the node that fails.
	Node string
	// Code is the kind of failure, such as ensemble.CodeWrongLength. The default
	// is ensemble.CodeModelError.
	Code string
	// Msg says what went wrong.
	Msg string
}

// Error returns the text of a failure.
func (f *Failure) Error() string { return fmt.Sprintf("[%s] %s: %s", f.Code, f.Node, f.Msg) }

// Func answers each row with what f returns. In and Out are structs. The fields
// of In are inputs of the ensemble, or other fields of the rows. Those of Out that
// In does not have are the columns that the ensemble adds, by their own names:
// without the prefix of ensemble.WithPrefix. The types of the program's rows and
// scored rows fit, and so do those of `beam-ensembles generate go`.
//
// An error fails the row: see Failure. A pipeline calls f from several
// goroutines.
func Func[In, Out any](f func(In) (Out, error)) *Answers {
	a := &Answers{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	a.answer = func(in reflect.Value) (reflect.Value, error) {
		out, err := f(in.Interface().(In))
		return reflect.ValueOf(out), err
	}
	a.err = errors.Join(checkStruct(a.in, "In"), checkStruct(a.out, "Out"))
	if f == nil {
		a.err = errors.New("the function of ensembletest.Func is nil")
	}
	return a
}

// Rows answers each row with the one of rows that has the same values in the
// fields which both have. Its other fields are the columns that the ensemble adds.
// A row without an answer fails the pipeline.
func Rows[Out any](rows ...Out) *Answers {
	a := &Answers{out: reflect.TypeFor[Out]()}
	for _, row := range rows {
		a.rows = append(a.rows, reflect.ValueOf(row))
	}
	a.err = checkStruct(a.out, "Out")
	return a
}

// For has the answers be for the ensemble of a name only. A fake may have
// answers for several.
func (a *Answers) For(name string) *Answers {
	changed := *a
	changed.ensemble = name
	return &changed
}

// WithPlan checks the answers, the rows and the parameters of the call against
// a file that `beam-ensembles plan --json` has written of the ensemble file. It
// has the answers be for that ensemble only.
func (a *Answers) WithPlan(path string) *Answers {
	changed := *a
	var err error
	if changed.plan, err = readPlan(path); err == nil {
		changed.ensemble = changed.plan.Ensemble
		err = changed.checkPlan()
	}
	changed.err = errors.Join(a.err, err)
	return &changed
}

// checkStruct reports a type that is no row.
func checkStruct(t reflect.Type, name string) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s is a struct, not %v", name, t)
	}
	return nil
}

// checkPlan reports where the types of the answers differ from the file's.
func (a *Answers) checkPlan() error {
	if a.err != nil {
		return nil // That is told already.
	}
	var wrong []error
	inputs := map[string]reflect.StructField{}
	if a.in != nil {
		inputs, _ = fieldsOf(a.in)
	}
	for name, declared := range a.plan.inputs {
		field, taken := inputs[name]
		if !taken {
			continue
		}
		found, _ := typeOf(field.Type)
		switch {
		case !feeds(declared, found):
			wrong = append(wrong, fmt.Errorf("the field %s of %v has the type %v, but the plan has the input '%s' as %v",
				field.Name, a.in, field.Type, name, declared))
		case declared.nullable && !canBeNil(field.Type):
			wrong = append(wrong, fmt.Errorf("the field %s of %v is not a pointer, but the plan has the input '%s' as %v",
				field.Name, a.in, name, declared))
		}
	}
	outputs, names := fieldsOf(a.out)
	for _, name := range names {
		declared, ok := a.plan.outputs[name]
		_, isInput := a.plan.inputs[name]
		_, isTaken := inputs[name]
		found, _ := typeOf(outputs[name].Type)
		switch {
		case !ok && !isInput && !isTaken && a.in != nil:
			wrong = append(wrong, fmt.Errorf("%v has a field '%s', which the plan lacks (outputs: %s)",
				a.out, name, listed(a.plan.outputNames())))
		case ok && !fits(found, declared, true):
			wrong = append(wrong, fmt.Errorf("the field %s of %v has the type %v, but the plan has the output '%s' as %v",
				outputs[name].Name, a.out, outputs[name].Type, name, declared))
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}

// failed returns what the row's Failed says of an error.
func failureOf(err error) Failure {
	var failure *Failure
	if !errors.As(err, &failure) {
		return Failure{Code: ensemble.CodeModelError, Msg: err.Error()}
	}
	told := *failure
	if told.Code == "" {
		told.Code = ensemble.CodeModelError
	}
	return told
}
