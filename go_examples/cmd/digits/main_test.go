package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

func TestReadImageReadsALineOfTheHeldOutImages(t *testing.T) {
	image, err := readImage(`{"id": 11, "pixels": [0.0, 16, 2.5], "target": "7"}`)
	if err != nil || image.ID != 11 || !slices.Equal(image.Pixels, []float64{0, 16, 2.5}) {
		t.Errorf("reads %+v (%v)", image, err)
	}
	if _, err := readImage(`{"id": "eleven"}`); err == nil {
		t.Error("takes a text for an id")
	}
}

func TestWriteScoredWritesWhatTheDemoCompares(t *testing.T) {
	line, err := writeScored(Scored{11, "7", 0.5, "7", "1", "7"})
	want := `{"id":11,"label":"7","confidence":0.5,"forest_label":"7","boost_label":"1","network_label":"7"}`
	if err != nil || line != want {
		t.Errorf("writes %s (%v), not %s", line, err, want)
	}
}

func TestBuildPipelineSaysWhatIsMissing(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	err := buildPipeline(s, "in", "out", "nowhere.yaml", "localhost:1")
	if err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("says %v", err)
	}
}
