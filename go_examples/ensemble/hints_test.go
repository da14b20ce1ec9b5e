package ensemble_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// hungry has a stage of its own in the middle, whose workers need memory and an
// accelerator.
const hungry = `
ensemble: hungry
inputs: {chances: "array<double>[3]"}
nodes:
  first: {apply: softmax, inputs: [chances], outputs: {once: {}}}
  second:
    apply: softmax
    inputs: [once]
    resources: {min_ram: 2GB, accelerator: "type:nvidia-tesla-t4;count:1;install-nvidia-driver"}
    outputs: {twice: {}}
  third: {apply: argmax, inputs: [twice], outputs: {index: int64}}
outputs: [index]
`

type pick struct {
	Index int64 `beam:"index"`
}

func init() { beam.RegisterType(reflect.TypeFor[pick]()) }

// TestIntegrationKeepsResourceHints looks at the pipeline that a runner gets:
// all that runs in the stage shares one environment with the node's hints, and
// nothing else has any.
func TestIntegrationKeepsResourceHints(t *testing.T) {
	needServers(t)
	for _, encoding := range []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow} {
		t.Run(string(encoding), func(t *testing.T) {
			pipeline, s := beam.NewPipelineWithRoot()
			ensemble.Run[pick](s, beam.CreateList(s, []turn{{}}), ensemble.FromText(hungry, ""),
				ensemble.WithEncoding(encoding))
			edges, _, err := pipeline.Build()
			if err != nil {
				t.Fatal(err)
			}
			made, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "go"}})
			if err != nil {
				t.Fatal(err)
			}
			checkHints(t, made.GetComponents())
		})
	}
}

func checkHints(t *testing.T, components *pipepb.Components) {
	t.Helper()
	want := map[string]string{
		"beam:resources:min_ram_bytes:v1": "2000000000",
		"beam:resources:accelerator:v1":   "type:nvidia-tesla-t4;count:1;install-nvidia-driver",
	}
	inStage, hinted, others := 0, map[string]bool{}, map[string]bool{}
	for _, transform := range components.GetTransforms() {
		if transform.GetEnvironmentId() == "" {
			continue
		}
		found := map[string]string{}
		for urn, value := range components.GetEnvironments()[transform.GetEnvironmentId()].GetResourceHints() {
			found[urn] = string(value)
		}
		name := transform.GetUniqueName()
		if strings.Contains(name, "Stage(hungry/second)") {
			inStage++
			hinted[transform.GetEnvironmentId()] = true
			if !maps.Equal(found, want) {
				t.Errorf("%s has the hints %v, not %v", name, found, want)
			}
		} else {
			others[transform.GetEnvironmentId()] = true
			if len(found) > 0 {
				t.Errorf("%s has the hints %v, and is in no stage that asks for them", name, found)
			}
		}
	}
	if inStage < 3 || len(hinted) != 1 || len(others) != 2 {
		t.Errorf("%d steps of the stage are in the environments %v, the others in %v", inStage, hinted, others)
	}
}
