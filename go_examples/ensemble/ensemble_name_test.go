package ensemble

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func TestEnsembleName(t *testing.T) {
	for _, test := range []struct {
		config config
		want   string
	}{
		{config{Spec: "# fraud\nensemble: fraud-2  # by country\ninputs: {x: double}\n"}, "fraud-2"},
		{config{Spec: `{"ensemble": "fraud", "inputs": {}}`}, "fraud"},
		{config{Spec: "ensemble: 'größe'\n"}, "größe"},
		{config{Spec: "inputs: {}\n"}, "ensemble"},
		{config{SpecURI: "gs://models/v1/fraud.yaml"}, "ensemble fraud"},
		{config{SpecURI: "/models/fraud.ensemble.zip"}, "ensemble fraud"},
		{config{SpecURI: "/"}, "ensemble"},
	} {
		if got := ensembleName(&test.config); got != test.want {
			t.Errorf("the ensemble of %+v is called %q, not %q", test.config, got, test.want)
		}
	}
}

// TestStepNamesAreThoseOfTheirPipeline fails where a later Beam keeps the
// pipeline of a scope elsewhere.
func TestStepNamesAreThoseOfTheirPipeline(t *testing.T) {
	for range 2 { // Another pipeline of the same program has the same names.
		_, s := beam.NewPipelineWithRoot()
		inner := s.Scope("fraud")
		var got []string
		for range 2 {
			got = append(got, stepNames.next(inner, &config{Spec: "ensemble: f"}))
		}
		if got[0] != "fraud/f" || got[1] != "fraud/f'1" {
			t.Errorf("the steps are called %q", got)
		}
	}
}
