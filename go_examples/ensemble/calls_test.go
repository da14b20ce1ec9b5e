package ensemble_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// callType is how a call's ensemble is asked for answers of the type that the
// service announces, with the type of its rows.
type callType struct {
	row reflect.Type

	run func(beam.Scope, beam.PCollection, ensemble.Source, ...ensemble.Option) (beam.PCollection, error)

	runWithErrors func(
		beam.Scope, beam.PCollection, ensemble.Source, ...ensemble.Option,
	) (scored, failed beam.PCollection, err error)
}

// callTypes come from a generated file, which go test -overlay puts beside
// this one.
var callTypes []callType

// clientCall is what is asked of an ensemble, drawn at random or one of
// tests/conformance, and what must come of the rows, whose ids are their
// places.
type clientCall struct {
	Name      string
	File      string
	Columns   map[string]string
	Prefix    string
	Encodings struct{ Go []ensemble.Encoding }
	Tolerance float64
	Rows      []map[string]any
	Outcomes  []struct {
		Added    map[string]any
		Failures []string
	}
}

// callsAtOnce is how many calls are in one pipeline: a runner starts a worker
// for each encoding of one.
const callsAtOnce = 4

func TestIntegrationGivesWhatPythonAndTheLibrariesSay(t *testing.T) {
	needServers(t)
	folder := os.Getenv(frameworksVariable)
	if folder == "" {
		t.Skip(frameworksVariable + " is not set: it comes with make test-integration")
	}
	calls := clientCalls(t, folder)
	if len(callTypes) == 0 || len(callTypes) != len(calls) {
		t.Fatalf("has the types of %d ensembles of %d; they come with go test -overlay=%s",
			len(callTypes), len(calls), filepath.Join(folder, "overlay.json"))
	}
	var asked []int
	for at, call := range calls {
		if len(call.Encodings.Go) > 0 {
			asked = append(asked, at)
		}
	}
	for some := range slices.Chunk(asked, callsAtOnce) {
		err := runPipeline(t, func(s beam.Scope) {
			for _, at := range some {
				rows := beam.CreateList(s, calls[at].rows(t, callTypes[at]).Interface())
				for _, encoding := range calls[at].Encodings.Go {
					calls[at].ask(t, s, callTypes[at], rows, folder, encoding)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for at, call := range calls {
		for _, encoding := range call.Encodings.Go {
			t.Run(call.Name+" "+string(encoding), func(t *testing.T) { call.check(t, callTypes[at], encoding) })
		}
	}
}

func clientCalls(t *testing.T, folder string) (calls []clientCall) {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.UseNumber()
	if err := decoder.Decode(&calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

// fails says that some rows fail, for which there is an output of their own.
func (c clientCall) fails() bool {
	for _, outcome := range c.Outcomes {
		if len(outcome.Failures) > 0 {
			return true
		}
	}
	return false
}

// rows gives the rows as a slice of their type.
func (c clientCall) rows(t *testing.T, graph callType) reflect.Value {
	rows := reflect.MakeSlice(reflect.SliceOf(graph.row), len(c.Rows), len(c.Rows))
	for i, row := range c.Rows {
		fill(t, rows.Index(i), row)
	}
	return rows
}

// ask scores the rows, and collects what comes out.
func (c clientCall) ask(
	t *testing.T, s beam.Scope, graph callType, rows beam.PCollection, folder string, encoding ensemble.Encoding,
) {
	file := ensemble.FromFile(filepath.Join(folder, c.File))
	options := []ensemble.Option{
		ensemble.WithEncoding(encoding), ensemble.WithColumns(c.Columns), ensemble.WithPrefix(c.Prefix),
	}
	if !c.fails() {
		scored, err := graph.run(s, rows, file, options...)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		collect(s, c.Name+" "+string(encoding), scored)
		return
	}
	scored, failed, err := graph.runWithErrors(s, rows, file, options...)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	collect(s, c.Name+" "+string(encoding), scored)
	collect(s, c.Name+" failed "+string(encoding), failed)
}

// check makes sure that every row came out once, as it must be.
func (c clientCall) check(t *testing.T, graph callType, encoding ensemble.Encoding) {
	seen := map[int]int{}
	for _, one := range collected(c.Name + " " + string(encoding)) {
		found := reflect.ValueOf(one.value)
		id := rowID(found)
		seen[id]++
		if added := c.Outcomes[id].Added; added == nil {
			t.Errorf("scores row %d, which should fail: %v", id, c.Outcomes[id].Failures)
		} else {
			checkFields(t, id, found, merged(c.Rows[id], added), c.Tolerance)
		}
	}
	for _, one := range collected(c.Name + " failed " + string(encoding)) {
		failed := reflect.ValueOf(one.value)
		element := failed.FieldByName("Element")
		id := rowID(element)
		seen[id]++
		why := failed.FieldByName("Node").String() + " " + failed.FieldByName("Code").String()
		if !slices.Contains(c.Outcomes[id].Failures, why) {
			t.Errorf("row %d fails with %q, not with one of %q: %v", id, why, c.Outcomes[id].Failures,
				failed.FieldByName("Msg"))
		}
		checkFields(t, id, element, c.Rows[id], c.Tolerance)
	}
	for id := range c.Rows {
		if seen[id] != 1 {
			t.Errorf("row %d comes out %d times", id, seen[id])
		}
	}
}

// checkFields compares a row with what JSON says of its fields.
func checkFields(t *testing.T, id int, found reflect.Value, want map[string]any, tolerance float64) {
	wanted := reflect.New(found.Type()).Elem()
	fill(t, wanted, want)
	for i := range found.NumField() {
		if !equal(found.Field(i), wanted.Field(i), tolerance) {
			t.Errorf("row %d: %s is %s, not %v", id, fieldName(found.Type().Field(i)), shown(found.Field(i)),
				want[fieldName(found.Type().Field(i))])
		}
	}
}

func rowID(row reflect.Value) int {
	for i := range row.NumField() {
		if fieldName(row.Type().Field(i)) == "id" {
			return int(row.Field(i).Int())
		}
	}
	panic("a row without an id")
}

func fieldName(field reflect.StructField) string { return field.Tag.Get("beam") }

func merged(parts ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, one := range parts {
		maps.Copy(all, one)
	}
	return all
}

func shown(value reflect.Value) string {
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	return fmt.Sprintf("%+v", value)
}

// fill sets a value to what JSON says: null is nil, numbers that JSON lacks
// are texts, and bytes are Base64.
func fill(t *testing.T, into reflect.Value, from any) {
	t.Helper()
	if from == nil {
		if kind := into.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
			t.Fatalf("a null for the type %v", into.Type())
		}
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		fill(t, into.Elem(), from)
	case reflect.Struct:
		for i := range into.NumField() {
			fill(t, into.Field(i), from.(map[string]any)[fieldName(into.Type().Field(i))])
		}
	case reflect.Slice:
		fillSlice(t, into, from)
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		for key, item := range from.(map[string]any) {
			value := reflect.New(into.Type().Elem()).Elem()
			fill(t, value, item)
			into.SetMapIndex(reflect.ValueOf(key), value)
		}
	case reflect.String:
		into.SetString(from.(string))
	case reflect.Bool:
		into.SetBool(from.(bool))
	case reflect.Int32, reflect.Int64:
		number, err := from.(json.Number).Int64()
		if err != nil || into.OverflowInt(number) {
			t.Fatalf("%v is no %v", from, into.Type())
		}
		into.SetInt(number)
	case reflect.Float32, reflect.Float64:
		number, err := strconv.ParseFloat(fmt.Sprint(from), 64)
		if err != nil {
			t.Fatal(err)
		}
		into.SetFloat(number)
	default:
		t.Fatalf("the type %v", into.Type())
	}
}

func fillSlice(t *testing.T, into reflect.Value, from any) {
	t.Helper()
	if text, ok := from.(string); ok {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		into.SetBytes(raw)
		return
	}
	items := from.([]any)
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		fill(t, into.Index(i), item)
	}
}
