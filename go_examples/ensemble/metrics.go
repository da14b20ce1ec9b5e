package ensemble

import (
	"maps"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
)

// EnsembleMetrics are the metrics of one ensemble of a pipeline. Its text is a
// table.
type EnsembleMetrics struct {
	// Ensemble is the ensemble's name.
	Ensemble string `json:"ensemble"`
	// Refreshes are the new versions of the ensemble that went on, counted for
	// each stage on each worker.
	Refreshes int64 `json:"refreshes"`
	// RefusedRefreshes are the new versions that could not, counted likewise.
	RefusedRefreshes int64 `json:"refused_refreshes"`
	// RefusedRefreshesByGate are those of them whose answers were beyond the
	// limits of the gate.
	RefusedRefreshesByGate int64 `json:"refused_refreshes_by_gate"`
	// Nodes are those of its nodes that have measured something, by name.
	Nodes []NodeMetrics `json:"nodes"`
	// Inputs are those of its inputs that were compared with a profile, by name.
	Inputs []InputMetrics `json:"inputs"`
}

// NodeMetrics are the metrics of one node, under the names that runners show.
// A distribution is nil where nothing was measured: the node never ran.
type NodeMetrics struct {
	// Node is the node's name.
	Node string `json:"node"`
	// NumInferences are the rows that it answered.
	NumInferences int64 `json:"num_inferences"`
	// FailedRows are the rows that it failed on, whatever its on_error made of
	// them.
	FailedRows int64 `json:"failed_rows"`
	// FailedBatchesCounter are the batches with a row that it failed on.
	FailedBatchesCounter int64 `json:"failed_batches_counter"`
	// SkippedRows are the rows for which its condition does not hold.
	SkippedRows int64 `json:"skipped_rows"`
	// InferenceRequestBatchSize are the rows of each batch that it ran on.
	InferenceRequestBatchSize *Distribution `json:"inference_request_batch_size"`
	// InferenceRequestBatchByteSize are the bytes of the columns that it read
	// of each batch.
	InferenceRequestBatchByteSize *Distribution `json:"inference_request_batch_byte_size"`
	// InferenceBatchLatencyMicroSecs are the microseconds for each batch.
	InferenceBatchLatencyMicroSecs *Distribution `json:"inference_batch_latency_micro_secs"`
	// LoadModelLatencyMilliSecs are the milliseconds for each time that it was
	// loaded, once per worker process.
	LoadModelLatencyMilliSecs *Distribution `json:"load_model_latency_milli_secs"`
	// ModelByteSize are the bytes by which the peak memory of the process grew
	// meanwhile.
	ModelByteSize *Distribution `json:"model_byte_size"`
	// Arms are the rows that took each arm of a route.
	Arms map[string]int64 `json:"arms"`
	// Agreements are the rows on which a shadow says what the node beside it
	// says.
	Agreements int64 `json:"agreements"`
	// Disagreements are the rows on which it says something else.
	Disagreements int64 `json:"disagreements"`
	// DifferencesMillionths is the sum over these rows of how far a shadow's
	// numbers are off, in millionths; MeanDifference has their mean.
	DifferencesMillionths int64 `json:"differences_millionths"`
	// GreatestDifferenceMillionths are the greatest differences of each batch,
	// in millionths; GreatestDifference has the greatest of all.
	GreatestDifferenceMillionths *Distribution `json:"greatest_difference_millionths"`
	// Usage is what the node counts besides rows, by name: calls of a server,
	// tokens, answers from a cache.
	Usage map[string]int64 `json:"usage"`
	// CallLatencyMicroSecs are the microseconds for each call of a server.
	CallLatencyMicroSecs *Distribution `json:"call_latency_micro_secs"`
}

// MeanDifference gives by how much a shadow's numbers differ on average, and
// false where it gives no numbers.
func (m NodeMetrics) MeanDifference() (float64, bool) {
	compared := m.Agreements + m.Disagreements
	if m.GreatestDifferenceMillionths == nil || compared == 0 {
		return 0, false
	}
	return float64(m.DifferencesMillionths) / 1e6 / float64(compared), true
}

// GreatestDifference gives by how much a shadow's numbers differ at most, and
// false where it gives no numbers.
func (m NodeMetrics) GreatestDifference() (float64, bool) {
	if m.GreatestDifferenceMillionths == nil {
		return 0, false
	}
	return float64(m.GreatestDifferenceMillionths.Max) / 1e6, true
}

// Distribution is what a metric knows of many numbers, at least one.
type Distribution struct {
	Count int64   `json:"count"`
	Sum   int64   `json:"sum"`
	Min   int64   `json:"min"`
	Max   int64   `json:"max"`
	Mean  float64 `json:"mean"`
}

// Metrics returns the metrics of the ensembles of a pipeline that has finished,
// by name: rows answered, failed and skipped, batches and their times, arms of
// routes, on how many rows shadows agree, and calls of servers. Each prints as a table.
//
//	result, err := beamx.RunWithMetrics(ctx, pipeline)
//	...
//	for _, found := range ensemble.Metrics(result) {
//		fmt.Println(found)
//	}
func Metrics(result beam.PipelineResult) []EnsembleMetrics {
	if result == nil {
		return nil
	}
	all := result.Metrics().AllMetrics()
	found := collector{}
	for _, one := range all.Counters() {
		found.count(one)
	}
	for _, one := range all.Distributions() {
		found.distribute(one)
	}
	return found.sorted()
}

// Of gives the metrics of a node; one that has measured nothing has zeros.
func (m EnsembleMetrics) Of(node string) NodeMetrics {
	for _, one := range m.Nodes {
		if one.Node == node {
			return one
		}
	}
	return NodeMetrics{Node: node, Arms: map[string]int64{}, Usage: map[string]int64{}}
}

// counters are the metrics that count, by name.
var counters = map[string]func(*NodeMetrics) *int64{
	"num_inferences":         func(m *NodeMetrics) *int64 { return &m.NumInferences },
	"failed_rows":            func(m *NodeMetrics) *int64 { return &m.FailedRows },
	"failed_batches_counter": func(m *NodeMetrics) *int64 { return &m.FailedBatchesCounter },
	"skipped_rows":           func(m *NodeMetrics) *int64 { return &m.SkippedRows },
	"agreements":             func(m *NodeMetrics) *int64 { return &m.Agreements },
	"disagreements":          func(m *NodeMetrics) *int64 { return &m.Disagreements },
	"differences_millionths": func(m *NodeMetrics) *int64 { return &m.DifferencesMillionths },
}

// distributions are the metrics of many numbers, by name.
var distributions = map[string]func(*NodeMetrics) **Distribution{
	"inference_request_batch_size":       func(m *NodeMetrics) **Distribution { return &m.InferenceRequestBatchSize },
	"inference_request_batch_byte_size":  func(m *NodeMetrics) **Distribution { return &m.InferenceRequestBatchByteSize },
	"inference_batch_latency_micro_secs": func(m *NodeMetrics) **Distribution { return &m.InferenceBatchLatencyMicroSecs },
	"load_model_latency_milli_secs":      func(m *NodeMetrics) **Distribution { return &m.LoadModelLatencyMilliSecs },
	"model_byte_size":                    func(m *NodeMetrics) **Distribution { return &m.ModelByteSize },
	"greatest_difference_millionths":     func(m *NodeMetrics) **Distribution { return &m.GreatestDifferenceMillionths },
	"call_latency_micro_secs":            func(m *NodeMetrics) **Distribution { return &m.CallLatencyMicroSecs },
}

// collector puts single metrics together to those of nodes, by ensemble and by
// node.
type collector map[string]*collected

type collected struct {
	refreshes, refused, refusedByGate int64
	nodes                             map[string]*NodeMetrics
	inputs                            map[string]*InputMetrics
}

func (c collector) count(one metrics.CounterResult) {
	ensemble, node, slash := strings.Cut(one.Namespace(), "/")
	value := one.Result()
	if !slash {
		switch one.Name() {
		case "refreshes":
			c.ensemble(ensemble).refreshes += value
		case "refused_refreshes":
			c.ensemble(ensemble).refused += value
		case "refused_refreshes_by_gate":
			c.ensemble(ensemble).refusedByGate += value
		}
		return
	}
	if !isNode(ensemble, node) {
		return
	}
	if column, ok := strings.CutPrefix(node, inputPrefix); ok {
		if counter := inputCounters[one.Name()]; counter != nil {
			*counter(c.input(ensemble, column)) += value
		}
		return
	}
	if arm, ok := strings.CutPrefix(one.Name(), "arm_"); ok {
		c.node(ensemble, node).Arms[arm] += value
		return
	}
	if name, ok := strings.CutPrefix(one.Name(), "usage_"); ok {
		c.node(ensemble, node).Usage[name] += value
		return
	}
	if counter := counters[one.Name()]; counter != nil {
		*counter(c.node(ensemble, node)) += value
	}
}

func (c collector) distribute(one metrics.DistributionResult) {
	ensemble, node, _ := strings.Cut(one.Namespace(), "/")
	value := one.Result()
	if !isNode(ensemble, node) || value.Count == 0 {
		return
	}
	if column, ok := strings.CutPrefix(node, inputPrefix); ok {
		if one.Name() == stabilityIndex {
			input := c.input(ensemble, column)
			input.PopulationStabilityIndexMillionths = input.PopulationStabilityIndexMillionths.with(value)
		}
		return
	}
	if place := distributions[one.Name()]; place != nil {
		held := place(c.node(ensemble, node))
		*held = (*held).with(value)
	}
}

func isNode(ensemble, node string) bool {
	return ensemble != "" && node != "" && !strings.Contains(node, "/")
}

func (c collector) ensemble(name string) *collected {
	if c[name] == nil {
		c[name] = &collected{nodes: map[string]*NodeMetrics{}, inputs: map[string]*InputMetrics{}}
	}
	return c[name]
}

func (c collector) node(ensemble, name string) *NodeMetrics {
	nodes := c.ensemble(ensemble).nodes
	if nodes[name] == nil {
		nodes[name] = &NodeMetrics{Node: name, Arms: map[string]int64{}, Usage: map[string]int64{}}
	}
	return nodes[name]
}

func (c collector) sorted() []EnsembleMetrics {
	var all []EnsembleMetrics
	for _, name := range slices.Sorted(maps.Keys(c)) {
		found := c[name]
		one := EnsembleMetrics{
			Ensemble: name, Refreshes: found.refreshes, RefusedRefreshes: found.refused,
			RefusedRefreshesByGate: found.refusedByGate, Inputs: []InputMetrics{},
		}
		for _, node := range slices.Sorted(maps.Keys(found.nodes)) {
			one.Nodes = append(one.Nodes, *found.nodes[node])
		}
		for _, column := range slices.Sorted(maps.Keys(found.inputs)) {
			one.Inputs = append(one.Inputs, *found.inputs[column])
		}
		all = append(all, one)
	}
	return all
}

// with gives the distribution of the numbers of both; d may be nil.
func (d *Distribution) with(more metrics.DistributionValue) *Distribution {
	sum := Distribution{Count: more.Count, Sum: more.Sum, Min: more.Min, Max: more.Max}
	if d != nil {
		sum.Count += d.Count
		sum.Sum += d.Sum
		sum.Min = min(sum.Min, d.Min)
		sum.Max = max(sum.Max, d.Max)
	}
	sum.Mean = float64(sum.Sum) / float64(sum.Count)
	return &sum
}
