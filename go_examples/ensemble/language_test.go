package ensemble_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// request is a row of the ensemble with every part of the language.
type request struct {
	ID     int64            `beam:"id" json:"id"`
	User   *string          `beam:"user" json:"user"`
	X      []float64        `beam:"x" json:"x"`
	Amount float64          `beam:"amount" json:"amount"`
	Note   *string          `beam:"note" json:"note"`
	Weight *int32           `beam:"weight" json:"weight"`
	Code   int64            `beam:"code" json:"code"`
	Guess  string           `beam:"guess" json:"guess"`
	Second *string          `beam:"second" json:"second"`
	Names  []string         `beam:"names" json:"names"`
	Tags   map[string]int64 `beam:"tags" json:"tags"`
}

// ranked is a row in the lists that the ensemble gives.
type ranked struct {
	Name  string  `beam:"name" json:"name"`
	Score float64 `beam:"score" json:"score"`
}

// origin says where a row's answers come from.
type origin struct {
	Ensemble      string            `beam:"ensemble" json:"ensemble"`
	Digest        string            `beam:"digest" json:"digest"`
	Route         map[string]string `beam:"route" json:"route"`
	ErrorsIgnored []string          `beam:"errors_ignored" json:"errors_ignored"`
}

// reply has every column that the ensemble adds; columns that may be null are
// pointers, or slices that may be nil.
type reply struct {
	ID         int64            `beam:"id" json:"id"`
	User       *string          `beam:"user" json:"user"`
	Weight     *int32           `beam:"weight" json:"weight"`
	Tags       map[string]int64 `beam:"tags" json:"tags"`
	Arm        string           `beam:"arm" json:"arm"`
	Lane       string           `beam:"lane" json:"lane"`
	Doubled    float64          `beam:"doubled" json:"doubled"`
	Initial    *string          `beam:"initial" json:"initial"`
	IsNoted    bool             `beam:"is_noted" json:"is_noted"`
	Heavier    *bool            `beam:"heavier" json:"heavier"`
	SmallP     []float64        `beam:"small_p" json:"small_p"`
	TwinP      []float64        `beam:"twin_p" json:"twin_p"`
	Places     []int64          `beam:"places" json:"places"`
	ArmLabel   *string          `beam:"arm_label" json:"arm_label"`
	BigP       []float64        `beam:"big_p" json:"big_p"`
	Deep       *int64           `beam:"deep" json:"deep"`
	Label      string           `beam:"label" json:"label"`
	Coded      *string          `beam:"coded" json:"coded"`
	Kind       string           `beam:"kind" json:"kind"`
	Vote       string           `beam:"vote" json:"vote"`
	Share      float64          `beam:"share" json:"share"`
	Best       []ranked         `beam:"best" json:"best"`
	SecondBest []ranked         `beam:"second_best" json:"second_best"`
	Prompt     string           `beam:"prompt" json:"prompt"`
	Provenance origin           `beam:"provenance" json:"provenance"`
}

// refusal is why a row cannot be scored.
type refusal struct {
	Node string `json:"node"`
	Code string `json:"code"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[request]())
	beam.RegisterType(reflect.TypeFor[reply]())
	beam.RegisterType(reflect.TypeFor[ensemble.Failed[request]]())
}

// requests reads the rows, and by their ids the answers or the refusals that
// Python computed without the service.
func requests(t *testing.T, folder string) (rows []request, want map[int64]reply, refused map[int64]refusal) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "language.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Row      request
		Expected reply
		Error    *refusal
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	want, refused = map[int64]reply{}, map[int64]refusal{}
	for _, one := range all {
		row := one.Row
		rows = append(rows, row)
		if one.Error != nil {
			refused[row.ID] = *one.Error
			continue
		}
		answer := one.Expected
		answer.ID, answer.User, answer.Weight, answer.Tags = row.ID, row.User, row.Weight, row.Tags
		want[row.ID] = answer
	}
	return rows, want, refused
}

func TestIntegrationSpeaksTheWholeLanguage(t *testing.T) {
	needServers(t)
	folder := os.Getenv(frameworksVariable)
	if folder == "" {
		t.Skip(frameworksVariable + " is not set: it comes with make test-integration")
	}
	rows, want, refused := requests(t, folder)
	encodings := []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow}
	err := runPipeline(t, func(s beam.Scope) {
		for _, encoding := range encodings {
			good, bad := ensemble.RunWithErrors[reply](s, beam.CreateList(s, rows),
				ensemble.FromFile(filepath.Join(folder, "language.yaml")),
				ensemble.WithEncoding(encoding), ensemble.WithProvenance())
			collect(s, "language "+string(encoding), good)
			collect(s, "language failed "+string(encoding), bad)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range encodings {
		t.Run(string(encoding), func(t *testing.T) {
			checkReplies(t, collected("language "+string(encoding)), want)
			checkRefusals(t, collected("language failed "+string(encoding)), rows, refused)
		})
	}
}

func checkReplies(t *testing.T, got []element, want map[int64]reply) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("answers %d rows, not %d", len(got), len(want))
	}
	digests := map[string]bool{}
	for _, one := range got {
		found := one.value.(reply)
		digests[found.Provenance.Digest] = true
		found.Provenance.Digest = ""
		a, b := reflect.ValueOf(found), reflect.ValueOf(want[found.ID])
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i), nineDigits) {
				t.Errorf("row %d: %s is %s, not %s", found.ID, a.Type().Field(i).Tag.Get("beam"),
					asJSON(a.Field(i).Interface()), asJSON(b.Field(i).Interface()))
			}
		}
	}
	for digest := range digests {
		if len(digests) != 1 || !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(digest) {
			t.Errorf("gives the digests %v, not one", digests)
		}
	}
}

func checkRefusals(t *testing.T, got []element, rows []request, want map[int64]refusal) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("refuses %d rows, not %d", len(got), len(want))
	}
	for _, one := range got {
		failed := one.value.(ensemble.Failed[request])
		id := failed.Element.ID
		if found := (refusal{failed.Node, failed.Code}); found != want[id] {
			t.Errorf("row %d fails with %v, not %v", id, found, want[id])
		}
		if !reflect.DeepEqual(failed.Element, rows[id]) {
			t.Errorf("gives %s back as %s", asJSON(rows[id]), asJSON(failed.Element))
		}
	}
}

// equal compares values that have gone through models: nulls are nulls,
// numbers agree to nine digits, and all else to the letter.
func equal(a, b reflect.Value, tolerance float64) bool {
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return same(a.Float(), b.Float(), tolerance)
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || equal(a.Elem(), b.Elem(), tolerance))
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i), tolerance) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			if other := b.MapIndex(key); !other.IsValid() || !equal(a.MapIndex(key), other, tolerance) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i), tolerance) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

// nineDigits is how near numbers are that agree to so many.
const nineDigits = 1e-9

// same says whether numbers differ by no more than a part of the first, or of
// 1 where that is more; NaN agrees with itself.
func same(a, b, tolerance float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(a))
}
