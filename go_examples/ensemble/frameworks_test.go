package ensemble_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// frameworksVariable names the folder of an ensemble with a node of every
// framework, and of what each framework itself says of some rows.
const frameworksVariable = "BEAM_ENSEMBLES_FRAMEWORKS"

// specimen is a row of that ensemble.
type specimen struct {
	ID   int64     `beam:"id" json:"id"`
	X    []float64 `beam:"x" json:"x"`
	Text string    `beam:"text" json:"text"`
}

// opinions are the answers of every framework, in the types that each gives.
type opinions struct {
	ID              int64     `beam:"id" json:"id"`
	SklearnLabel    string    `beam:"sklearn_label" json:"sklearn_label"`
	SklearnProba    []float64 `beam:"sklearn_proba" json:"sklearn_proba"`
	XgboostProba    []float32 `beam:"xgboost_proba" json:"xgboost_proba"`
	LightgbmProba   []float64 `beam:"lightgbm_proba" json:"lightgbm_proba"`
	CatboostLabel   string    `beam:"catboost_label" json:"catboost_label"`
	OnnxLabel       int64     `beam:"onnx_label" json:"onnx_label"`
	OnnxProba       []float32 `beam:"onnx_proba" json:"onnx_proba"`
	PytorchLogits   []float32 `beam:"pytorch_logits" json:"pytorch_logits"`
	TensorflowProba []float32 `beam:"tensorflow_proba" json:"tensorflow_proba"`
	Mood            string    `beam:"mood" json:"mood"`
	MoodScore       float64   `beam:"mood_score" json:"mood_score"`
	PythonLabel     string    `beam:"python_label" json:"python_label"`
	RemoteProba     []float64 `beam:"remote_proba" json:"remote_proba"`
	VertexLabel     string    `beam:"vertex_label" json:"vertex_label"`
	VertexShare     []float64 `beam:"vertex_share" json:"vertex_share"`
	ChatMood        string    `beam:"chat_mood" json:"chat_mood"`
	ChatWords       int64     `beam:"chat_words" json:"chat_words"`
	ChatParts       []string  `beam:"chat_parts" json:"chat_parts"`
	EmbedVector     []float32 `beam:"embed_vector" json:"embed_vector"`
	DecisionsBad    float64   `beam:"decisions_bad" json:"decisions_bad"`
}

// gpuOpinions are the answers of the frameworks that run on a GPU only.
type gpuOpinions struct {
	ID          int64     `beam:"id" json:"id"`
	TensorrtSum []float32 `beam:"tensorrt_sum" json:"tensorrt_sum"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[specimen]())
	beam.RegisterType(reflect.TypeFor[opinions]())
	beam.RegisterType(reflect.TypeFor[gpuOpinions]())
}

// specimens reads the rows, and by their ids what the frameworks say of them.
func specimens(t *testing.T, folder string) (rows []specimen, want, onGPU map[int64]any) {
	t.Helper()
	var all []struct {
		Row      specimen
		Expected opinions
		OnGPU    gpuOpinions `json:"on_gpu"`
	}
	readJSON(t, filepath.Join(folder, "rows.json"), &all)
	want, onGPU = map[int64]any{}, map[int64]any{}
	for _, one := range all {
		rows = append(rows, one.Row)
		one.Expected.ID, one.OnGPU.ID = one.Row.ID, one.Row.ID
		want[one.Row.ID], onGPU[one.Row.ID] = one.Expected, one.OnGPU
	}
	return rows, want, onGPU
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestIntegrationRunsEveryFramework(t *testing.T) {
	needServers(t)
	folder := os.Getenv(frameworksVariable)
	if folder == "" {
		t.Skip(frameworksVariable + " is not set: it comes with make test-integration")
	}
	rows, want, onGPU := specimens(t, folder)
	t.Run("CPU", func(t *testing.T) {
		checkFrameworks[opinions](t, "frameworks CPU", filepath.Join(folder, "every.json"), rows, want)
	})
	var leftOut map[string]string
	readJSON(t, filepath.Join(folder, "left_out.json"), &leftOut)
	for framework, reason := range leftOut {
		t.Run(framework, func(t *testing.T) { t.Skip(reason) })
	}
	if len(leftOut) == 0 {
		t.Run("GPU", func(t *testing.T) {
			checkFrameworks[gpuOpinions](t, "frameworks GPU", filepath.Join(folder, "gpu.json"), rows, onGPU)
		})
	}
}

// checkFrameworks scores the rows with an ensemble, and compares each answer
// with what is wanted by its id. They go as rows; Java's, whose test is the
// same, go in Arrow batches.
func checkFrameworks[T any](t *testing.T, name, file string, rows []specimen, want map[int64]any) {
	t.Helper()
	err := runPipeline(t, func(s beam.Scope) {
		collect(s, name, ensemble.Run[T](s, beam.CreateList(s, rows), ensemble.FromFile(file),
			ensemble.WithEncoding(ensemble.EncodingRows)))
	})
	if err != nil {
		t.Fatal(err)
	}
	got := collected(name)
	if len(got) != len(rows) {
		t.Fatalf("gives %d rows, not %d", len(got), len(rows))
	}
	for _, one := range got {
		checkOpinions(t, one.value, want[reflect.ValueOf(one.value).FieldByName("ID").Int()])
	}
}

// checkOpinions compares field by field: numbers to five digits, all else to
// the letter.
func checkOpinions(t *testing.T, got, want any) {
	t.Helper()
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		if !alike(a.Field(i), b.Field(i)) {
			t.Errorf("row %d: %s is %v, not %v", a.FieldByName("ID").Int(), a.Type().Field(i).Tag.Get("beam"), a.Field(i), b.Field(i))
		}
	}
}

func alike(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.Abs(a.Float()-b.Float()) < 1e-5
	case reflect.Slice:
		if a.Len() != b.Len() || a.Len() == 0 {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}
