package ensemble

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	dashed "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/testrows/dash-ed.rows"
	rows "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/testrows/rows.v2"
)

// failedCase is a row type and the type of its failed rows.
type failedCase struct {
	row, failed reflect.Type
}

func failedCaseOf[T any]() failedCase {
	found := failedCase{reflect.TypeFor[T](), reflect.TypeFor[Failed[T]]()}
	beam.RegisterType(found.failed)
	return found
}

type genericRow[T any] struct {
	X T `beam:"x"`
}

// failedCases are by what is special about the row type.
var failedCases = map[string]failedCase{}

func init() {
	type localRow struct {
		X float64 `beam:"x"`
	}
	failedCases["dot"] = failedCaseOf[rows.Row]()
	failedCases["dot, pointer"] = failedCaseOf[*rows.Row]()
	failedCases["dash and dot"] = failedCaseOf[dashed.Row]()
	failedCases["generic"] = failedCaseOf[genericRow[float64]]()
	failedCases["generic of a dot"] = failedCaseOf[genericRow[rows.Row]]()
	failedCases["generic in a dot"] = failedCaseOf[rows.Of[dashed.Row]]()
	failedCases["local"] = failedCaseOf[localRow]()
	failedCases["local, pointer"] = failedCaseOf[*localRow]()
	failedCases["generic of a local"] = failedCaseOf[rows.Of[localRow]]()
	failedCases["local of a generic"] = localOfGeneric[rows.Row]()
	failedCases["no name"] = failedCaseOf[struct {
		X float64 `beam:"x"`
	}]()
}

func localOfGeneric[T any]() failedCase {
	type localRow struct {
		X T `beam:"x"`
	}
	return failedCaseOf[localRow]()
}

func TestFailedTypeIsFoundWhateverThePackageOfTheRow(t *testing.T) {
	for name, c := range failedCases {
		if got, err := failedType(c.row); err != nil || got != c.failed {
			t.Errorf("%s: finds %v: %v", name, got, err)
		}
	}
}

func TestFailedTypeIsThatOfTheVeryRow(t *testing.T) {
	type localRow struct { // Another type than that of the same name in init.
		Y int64 `beam:"y"`
	}
	if got, err := failedType(reflect.TypeFor[localRow]()); err == nil {
		t.Errorf("finds %v, whose rows have another type", got)
	}
}

func TestPackagesAreSpelledAsInTypeArguments(t *testing.T) {
	for path, want := range map[string]string{
		"main":                         "main",
		"example.com/a.b/rows":         "example.com/a.b/rows",
		"example.com/a.b/rows.v2":      "example.com/a.b/rows%2ev2",
		"example.com/a-b/internal/x":   "example.com/a-b/internal/x",
		"gopkg.in/rows.v2":             "gopkg.in/rows%2ev2",
		"example.com/a%b":              "example.com/a%25b",
		"example.com/r\u00e9sum\u00e9": "example.com/r%c3%a9sum%c3%a9",
	} {
		if got := linkerPath(path); got != want {
			t.Errorf("%q is spelled %q, not %q", path, got, want)
		}
	}
}

func TestAnotherTypeOfTheSameNameIsNotTheRegisteredOne(t *testing.T) {
	type point struct { // The registered one has a float64.
		X string `beam:"x"`
	}
	_, s := beam.NewPipelineWithRoot()
	for encoding, want := range map[Encoding]string{"": "", EncodingArrow: "another type called ensemble.point is"} {
		x, err := newCrossing(beam.Create(s, point{}), reflect.TypeFor[average](), false, encoding)
		switch {
		case want == "" && (err != nil || x.encoding != EncodingRows):
			t.Errorf("rows of a type that is not registered travel as %+v: %v", x, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("says %v, not %q", err, want)
		}
	}
}
