package ensemble_test

import (
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// TestIntegrationNamesItsStepsByTheEnsemble looks at what a runner shows: the
// ensemble's name, not Beam's "External", and no name twice, which Flink's job
// server refuses.
func TestIntegrationNamesItsStepsByTheEnsemble(t *testing.T) {
	needServers(t)
	pipeline, s := beam.NewPipelineWithRoot()
	for range 2 {
		ensemble.Run[pick](s, beam.CreateList(s, []turn{{}}), ensemble.FromText(hungry, ""))
	}
	edges, _, err := pipeline.Build()
	if err != nil {
		t.Fatal(err)
	}
	made, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "go"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, transform := range made.GetComponents().GetTransforms() {
		name := transform.GetUniqueName()
		if strings.Contains(name, "External") {
			t.Errorf("a step is called %s", name)
		}
		if seen[name] {
			t.Errorf("two steps are called %s", name)
		}
		seen[name] = true
	}
	for _, want := range []string{"ensemble.Run/hungry", "ensemble.Run/hungry'1"} {
		if !seen[want] {
			t.Errorf("no step is called %s: %v", want, seen)
		}
	}
}
