package ensemble

import (
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// point is a row that crosses as it is.
type point struct {
	X float64 `beam:"x"`
}

// average is what the ensembles of the tests make of a point.
type average struct {
	X       float64 `beam:"x"`
	Average float64 `beam:"average"`
}

// photo is a row with a field that cannot cross.
type photo struct {
	X     float64   `beam:"x"`
	Taken time.Time `beam:"taken"`
}

type scoredPhoto struct {
	Taken   time.Time `beam:"taken"`
	Average float64   `beam:"average"`
}

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[point](), reflect.TypeFor[average](), reflect.TypeFor[Failed[point]](),
		reflect.TypeFor[photo](), reflect.TypeFor[scoredPhoto](), reflect.TypeFor[Failed[photo]](),
		reflect.TypeFor[Failed[*photo]](), reflect.TypeFor[everything](), reflect.TypeFor[nested](),
	} {
		beam.RegisterType(t)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}
