package ensembletest_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/ensembletest"
)

// spot is a row in a column, seldom are the columns of nodes that run on some
// rows only, spotted is a game with them.
type spot struct {
	Tags []string `beam:"tags"`
}

type seldom struct {
	Spread []float64        `beam:"spread"`
	Counts map[string]int64 `beam:"counts"`
	Spot   spot             `beam:"spot"`
}

type spotted struct {
	ID     int64            `beam:"id"`
	Spread []float64        `beam:"spread"`
	Counts map[string]int64 `beam:"counts"`
	Spot   spot             `beam:"spot"`
}

func init() { beam.RegisterType(reflect.TypeFor[spotted]()) }

// TestFakeFillsSlicesWithNulls has columns that the plan declares nullable in
// fields that are no pointers: a service fills them, too.
func TestFakeFillsSlicesWithNulls(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "seldom.plan.json")
	text := `{"ensemble": "votes", "inputs": {"chances": "array<double>[3]"}, "outputs": {
		"spread": "array<double>[3]?", "counts": "map<string,int64>?", "spot": "row<tags: array<string>?>"}}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(in chances) (seldom, error) {
		if in.Chances[0] > 0 {
			return seldom{}, nil
		}
		return seldom{in.Chances, map[string]int64{"a": 1}, spot{[]string{"b"}}}, nil
	}
	fake := ensembletest.Fake(t, ensembletest.Func(answer).WithPlan(plan))
	pipeline, s, rows := ptest.CreateList([]game{games[0], games[3]})
	scored, err := ensemble.TryRun[spotted](s, rows, file, ensemble.WithExpansionAddr(fake.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	passert.Equals(s, scored, spotted{ID: 1}, spotted{4, []float64{0, 0, 0}, map[string]int64{"a": 1}, spot{[]string{"b"}}})
	ptest.RunAndValidate(t, pipeline)
}
