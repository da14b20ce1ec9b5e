package ensemble

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

const goldenMetrics = "../../tests/golden/metrics/"

// goldenResult is a pipeline's result that says what the golden file says.
type goldenResult struct{ counters, distributions []metricOfStep }

type metricOfStep struct {
	Step, Namespace, Name string
	Counter               *int64
	Distribution          []int64
}

func goldenFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(goldenMetrics + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newGoldenResult(t *testing.T) goldenResult {
	t.Helper()
	var all []metricOfStep
	if err := json.Unmarshal(goldenFile(t, "metrics.json"), &all); err != nil {
		t.Fatal(err)
	}
	var result goldenResult
	for _, one := range all {
		if one.Counter != nil {
			result.counters = append(result.counters, one)
		} else {
			result.distributions = append(result.distributions, one)
		}
	}
	return result
}

func (r goldenResult) JobID() string { return "golden" }

// Metrics says some of it as Prism does, with smaller values of bundles at
// work, and some as Flink does, which commits nothing.
func (r goldenResult) Metrics() metrics.Results {
	var counters []metrics.CounterResult
	for i, one := range r.counters {
		found := metrics.CounterResult{Attempted: *one.Counter, Key: one.key()}
		if i%2 == 0 {
			found.Attempted, found.Committed = *one.Counter/2, *one.Counter
		}
		counters = append(counters, found)
	}
	var distributions []metrics.DistributionResult
	for _, one := range r.distributions {
		d := one.Distribution
		value := metrics.DistributionValue{Count: d[0], Sum: d[1], Min: d[2], Max: d[3]}
		distributions = append(distributions, metrics.DistributionResult{Committed: value, Key: one.key()})
	}
	return *metrics.NewResults(counters, distributions, nil, nil, nil)
}

func (m metricOfStep) key() metrics.StepKey {
	return metrics.StepKey{Step: m.Step, Namespace: m.Namespace, Name: m.Name}
}

func TestMetricsPrintTheGoldenTable(t *testing.T) {
	var table strings.Builder
	for _, one := range Metrics(newGoldenResult(t)) {
		table.WriteString(one.String() + "\n")
	}
	if want := string(goldenFile(t, "table.txt")); table.String() != want {
		t.Errorf("prints\n%s\nnot\n%s", table.String(), want)
	}
}

func TestMetricsEncodeToTheGoldenJSON(t *testing.T) {
	text, err := json.Marshal(map[string]any{"ensembles": Metrics(newGoldenResult(t))})
	if err != nil {
		t.Fatal(err)
	}
	var found, want any
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(goldenFile(t, "expected.json"), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("encodes to %s", text)
	}
}

func TestMetricsOfANodeThatHasCountedNothingAreZero(t *testing.T) {
	fraud := Metrics(newGoldenResult(t))[0]
	if found := fraud.Of("absent"); found.NumInferences != 0 || found.InferenceRequestBatchSize != nil {
		t.Errorf("gives %+v", found)
	}
	if found := fraud.OfInput("absent"); found.ComparedRows != 0 || found.PopulationStabilityIndexMillionths != nil {
		t.Errorf("gives %+v of an input that was not compared", found)
	}
	if found := fraud.OfInput("amount").ComparedRows; found != 5000 {
		t.Errorf("adds two steps up to %d rows of an input, not 5000", found)
	}
	if found := fraud.Of("forest").NumInferences; found != 98 {
		t.Errorf("adds two steps up to %d rows, not 98", found)
	}
}

func TestMetricsOfNoResultAreNone(t *testing.T) {
	if found := Metrics(nil); found != nil {
		t.Errorf("gives %v", found)
	}
}
