package ensembletest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/agnivade/levenshtein"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/fakes"
)

// expansion is one call, bound to the answers for it.
type expansion struct {
	call    fakes.Call
	answers *Answers
	// inputs are the columns that the ensemble reads.
	inputs []input
	// fields say what fills each field of a scored row.
	fields []filled
}

// input is a column that an ensemble reads.
type input struct {
	name string
	// field is that of the row.
	field reflect.StructField
	// declared is its type in the file, where there is a plan of it.
	declared *columnType
	// into is the field of what a function takes, or of an answer that is a row,
	// nil where neither has it.
	into []int
}

// filled is a field of a scored row, and what fills it.
type filled struct {
	to reflect.StructField
	// from is a field of the row or, where added, of the answer; nil stands for
	// the provenance.
	from  []int
	added bool
}

// binder finds what is wrong with a call.
type binder struct {
	*expansion

	row      map[string]reflect.StructField
	names    []string
	problems []problem
}

// bind checks a call, and settles what its scored rows are made of.
func bind(answers *Answers, call fakes.Call) (*expansion, []problem) {
	b := &binder{expansion: &expansion{call: call, answers: answers}}
	b.row, b.names = fieldsOf(call.Row)
	b.checkParameters()
	declared := b.bindInputs()
	b.checkColumns(declared)
	b.bindOutputs(declared)
	return b.expansion, b.problems
}

func (b *binder) refuse(code, path, format string, args ...any) {
	b.problems = append(b.problems, problem{code, path, fmt.Sprintf(format, args...)})
}

var (
	placeholder = regexp.MustCompile(`\$\{([^{}]*)\}`)
	// comment may also be a part of a text in quotes.
	comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)
)

// checkParameters compares the parameters with those of the plan, or of the
// file's text.
func (b *binder) checkParameters() {
	known, needed := placeholders(b.call.Spec), placeholders(comment.ReplaceAllString(b.call.Spec, ""))
	switch {
	case b.answers.plan != nil:
		known = slices.Sorted(slices.Values(b.answers.plan.Parameters))
		needed = known
	case b.call.Spec == "":
		return // The file is where only a service reads it.
	}
	given := slices.Sorted(maps.Keys(b.call.Parameters))
	for _, name := range given {
		if !slices.Contains(known, name) {
			b.refuse(ensemble.CodeUnknownParameter, "parameters", "the file has no parameter '%s'%s (it has: %s)",
				name, nearest(name, known), listed(known))
		}
	}
	for _, name := range needed {
		if !slices.Contains(given, name) {
			b.refuse(ensemble.CodeMissingParameter, "parameters", "no value was given for the parameter '%s' (given: %s)",
				name, listed(given))
		}
	}
}

// placeholders returns the names of the ${name} in a text.
func placeholders(text string) (names []string) {
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bindInputs checks the rows against the inputs of the plan and of the
// function, and returns the names of all of them.
func (b *binder) bindInputs() (names []string) {
	taken, inputs := map[string]reflect.StructField{}, map[string]columnType{}
	if b.answers.in != nil {
		taken, _ = fieldsOf(b.answers.in)
	}
	if b.answers.plan != nil {
		inputs = b.answers.plan.inputs
	}
	all := maps.Clone(inputs)
	for name, field := range taken {
		if _, ok := inputs[name]; !ok {
			all[name], _ = typeOf(field.Type)
		}
	}
	names = slices.Sorted(maps.Keys(all))
	for _, name := range names {
		field, isTaken := taken[name]
		declared, isInput := inputs[name]
		one := input{name: name}
		if isTaken {
			one.into = field.Index
		}
		if isInput {
			one.declared = &declared
		}
		found, ok := b.row[cmp.Or(b.call.Columns[name], name)]
		// A field of In as the rows have it may be none of the ensemble's inputs.
		if same := ok && isTaken && !isInput && found.Type == field.Type; same || b.checkInput(name, all[name]) {
			one.field = found
			b.inputs = append(b.inputs, one)
		}
	}
	if b.answers.in == nil {
		b.matchRows()
	}
	return names
}

// matchRows has the fields that rows and answers share tell which answer is a
// row's.
func (b *binder) matchRows() {
	fields, names := fieldsOf(b.answers.out)
	shared := 0
	for _, name := range names {
		field, ok := b.row[name]
		if !ok {
			continue
		}
		shared++
		found, _ := typeOf(field.Type)
		declared, _ := typeOf(fields[name].Type)
		if field.Type != fields[name].Type && !feeds(found, declared) {
			b.refuse(ensemble.CodeFieldType, "input."+name, "the incoming rows have '%s' as %v, and the answers as %v",
				name, field.Type, fields[name].Type)
			continue
		}
		b.inputs = append(b.inputs, input{name: name, field: field, into: fields[name].Index})
	}
	if shared == 0 {
		b.refuse(ensemble.CodeMissingField, "input", "the answers have no field of the incoming rows, which would tell whose "+
			"they are (fields: %s)", listed(b.names))
	}
}

// checkInput reports whether an input can be read from the rows.
func (b *binder) checkInput(name string, declared columnType) bool {
	field := cmp.Or(b.call.Columns[name], name)
	path := "input." + field
	if opaque, ok := b.call.Opaque[field]; ok {
		b.refuse(ensemble.CodeOpaqueField, path, "the ensemble reads '%s', but its type %s cannot cross to the models",
			field, opaque)
		return false
	}
	found, ok := b.row[field]
	if !ok {
		b.refuse(ensemble.CodeMissingField, path, "the ensemble reads '%s', which the incoming rows lack%s (fields: %s)",
			field, nearest(field, b.names), listed(b.names))
		return false
	}
	if has, _ := typeOf(found.Type); !feeds(has, declared) {
		b.refuse(ensemble.CodeFieldType, path, "the incoming rows have '%s' as %v, and the ensemble declares %v; %s",
			field, has, declared, ruleOf(has, declared))
		return false
	}
	return true
}

// ruleOf returns what a field of another type than the declared one needs.
func ruleOf(found, declared columnType) string {
	for found.kind == arrayKind && declared.kind == arrayKind {
		found, declared = found.of[0], declared.of[0]
	}
	switch {
	case found.kind == rowKind && declared.kind == rowKind:
		return "rows in rows need the same fields, and numbers may only become wider"
	case slices.Contains(numbers, found.kind) && slices.Contains(numbers, declared.kind):
		return "numbers may only become wider"
	}
	return "convert the field before, or declare the input as the field is"
}

// checkColumns compares the columns and fields that options name with those
// there are.
func (b *binder) checkColumns(declared []string) {
	if b.answers.plan != nil {
		declared = slices.Sorted(maps.Keys(b.answers.plan.inputs))
	}
	for _, name := range slices.Sorted(maps.Keys(b.call.Columns)) {
		if !slices.Contains(declared, name) && (b.answers.in != nil || b.answers.plan != nil) {
			b.refuse(ensemble.CodeUnknownColumn, "columns."+name, "the ensemble has no input '%s'%s (inputs: %s)",
				name, nearest(name, declared), listed(declared))
		}
	}
	for _, name := range b.call.PassThrough {
		if _, ok := b.row[name]; !ok {
			b.refuse(ensemble.CodeMissingField, "pass_through", "the incoming rows have no field '%s'%s",
				name, nearest(name, b.names))
		}
	}
}

// bindOutputs finds what fills the fields of scored rows.
func (b *binder) bindOutputs(inputs []string) {
	kept := b.names
	if b.call.PassThrough != nil {
		kept = b.call.PassThrough
	}
	added := b.added(inputs)
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if slices.Contains(kept, b.call.Prefix+name) {
			b.refuse(ensemble.CodeColumnExists, "outputs."+name, "the incoming rows have a field '%s' already, which the "+
				"ensemble would hide; rename it, give a prefix, or have the function take it, too", b.call.Prefix+name)
		}
	}
	scored, names := fieldsOf(b.call.Scored)
	for _, name := range names {
		b.bindOutput(scored[name], name, kept, added)
	}
}

// addedColumn is a column that an ensemble adds.
type addedColumn struct {
	made columnType
	from []int
}

// added returns the columns that the ensemble adds.
func (b *binder) added(inputs []string) map[string]addedColumn {
	added := map[string]addedColumn{}
	fields, names := fieldsOf(b.answers.out)
	for _, name := range names {
		_, ofRow := b.row[name]
		if slices.Contains(inputs, name) || b.answers.in == nil && ofRow {
			continue
		}
		made, ok := typeOf(fields[name].Type)
		if !ok {
			b.refuse(ensemble.CodeNotPortable, "outputs."+name, "the answers have '%s' as %v, which no column of an ensemble has",
				name, fields[name].Type)
			continue
		}
		if b.answers.plan != nil {
			if declared, ok := b.answers.plan.outputs[name]; ok {
				made = declared
			}
		}
		added[name] = addedColumn{made, fields[name].Index}
	}
	if b.call.Provenance {
		made, _ := typeOf(reflect.TypeFor[provenance]())
		added[provenanceColumn] = addedColumn{made: made}
	}
	return added
}

// bindOutput finds what fills a field of scored rows.
func (b *binder) bindOutput(field reflect.StructField, name string, kept []string, added map[string]addedColumn) {
	path := "output_schema." + name
	if from, ok := b.row[name]; ok && slices.Contains(kept, name) {
		if from.Type != field.Type && !fits(fieldType(from.Type), fieldType(field.Type), false) {
			b.refuse(ensemble.CodeOutputSchemaMismatch, path, "the caller's type has '%s' as %v, but the rows have it as %v",
				name, field.Type, from.Type)
		}
		b.fields = append(b.fields, filled{to: field, from: from.Index})
		return
	}
	there := slices.Clone(kept)
	for _, column := range slices.Sorted(maps.Keys(added)) {
		if b.call.Prefix+column != name {
			there = append(there, b.call.Prefix+column)
			continue
		}
		if wanted := fieldType(field.Type); !fits(added[column].made, wanted, true) {
			b.refuse(ensemble.CodeOutputSchemaMismatch, path, "the caller's type has '%s' as %v, but the ensemble gives %v",
				name, wanted, added[column].made)
		}
		b.fields = append(b.fields, filled{to: field, from: added[column].from, added: true})
		return
	}
	b.refuse(ensemble.CodeOutputSchemaMismatch, path, "the caller's type has a field '%s', which the ensemble's output "+
		"lacks%s (fields: %s)", name, nearest(name, there), listed(there))
}

// nearest suggests the one of some names that is like another.
func nearest(name string, names []string) string {
	best, distance := "", len(name)/3+1
	for _, one := range names {
		if found := levenshtein.ComputeDistance(name, one); found <= distance && one != name {
			if best == "" || found < distance {
				best, distance = one, found
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean '" + best + "'?"
}

func compare(a, b string) int { return cmp.Compare(a, b) }
