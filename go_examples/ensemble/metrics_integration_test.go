package ensemble_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// visit is a row of the ensemble whose nodes count all that there is to count.
type visit struct {
	User string  `beam:"user" json:"user"`
	X    float64 `beam:"x" json:"x"`
	Code int64   `beam:"code" json:"code"`
	Note *string `beam:"note" json:"note"`
}

type scoredVisit struct {
	User    string   `beam:"user"`
	Arm     string   `beam:"arm"`
	Doubled *float64 `beam:"doubled"`
	OfA     *float64 `beam:"of_a"`
	Label   *string  `beam:"label"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[visit]())
	beam.RegisterType(reflect.TypeFor[scoredVisit]())
}

// nodeCounts are the counts of a node that depend neither on bundles nor on
// time.
type nodeCounts struct {
	NumInferences int64            `json:"num_inferences"`
	FailedRows    int64            `json:"failed_rows"`
	SkippedRows   int64            `json:"skipped_rows"`
	Arms          map[string]int64 `json:"arms"`
	Agreements    int64            `json:"agreements"`
	Disagreements int64            `json:"disagreements"`
	Rows          int64            `json:"rows"`
}

func TestIntegrationCountsTheRowsOfEveryNode(t *testing.T) {
	needServers(t)
	folder := "../../tests/golden/metrics"
	text, err := os.ReadFile(filepath.Join(folder, "counted.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Rows   []visit
		Times  int
		Counts map[string]nodeCounts
		New    map[string]string
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	result, err := runPipelineForResult(t, func(s beam.Scope) {
		rows := beam.CreateList(s, slices.Repeat(want.Rows, want.Times))
		ensemble.Run[scoredVisit](s, rows, ensemble.FromFile(filepath.Join(folder, "counted.yaml")))
	})
	if err != nil {
		t.Fatal(err)
	}
	all := ensemble.Metrics(result)
	if len(all) != 1 || all[0].Ensemble != "counted" || len(all[0].Nodes) != len(want.Counts) {
		t.Fatalf("gives %v", all)
	}
	for _, node := range all[0].Nodes {
		found := nodeCounts{
			node.NumInferences, node.FailedRows, node.SkippedRows, nil, node.Agreements, node.Disagreements,
			node.InferenceRequestBatchSize.Sum,
		}
		if len(node.Arms) > 0 {
			found.Arms = node.Arms
		}
		if !reflect.DeepEqual(found, want.Counts[node.Node]) {
			t.Errorf("'%s' counts %+v, not %+v", node.Node, found, want.Counts[node.Node])
		}
		if latency := node.InferenceBatchLatencyMicroSecs; latency.Count != node.InferenceRequestBatchSize.Count ||
			latency.Min <= 0 {
			t.Errorf("'%s' took %+v", node.Node, latency)
		}
	}
	if len(all[0].Inputs) != len(want.New) {
		t.Errorf("compares %v", all[0].Inputs)
	}
	for _, input := range all[0].Inputs {
		assertCountsWhatIsNew(t, input, want.New[input.Column])
	}
}

// assertCountsWhatIsNew fails unless whole windows of an input were compared,
// and each was found to differ from the profile by what the name says.
func assertCountsWhatIsNew(t *testing.T, input ensemble.InputMetrics, name string) {
	t.Helper()
	counted := map[string]int64{
		"null_rows": input.NullRows, "out_of_range_values": input.OutOfRangeValues, "unseen_values": input.UnseenValues,
	}
	for one, count := range counted {
		if (count > 0) != (one == name) {
			t.Errorf("%s of input '%s' are %d", one, input.Column, count)
		}
	}
	index := input.PopulationStabilityIndexMillionths
	if index == nil || index.Min < 100_000 || index.Count != input.DriftedWindows ||
		input.ComparedRows != 500*input.DriftedWindows {
		t.Errorf("input '%s' counts %+v", input.Column, input)
	}
}
