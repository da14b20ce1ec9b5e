package ensemble

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/schema"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

// payloads is the folder that the tests of all clients read.
const payloads = "../../tests/golden/payloads"

type goldenPayload struct {
	Call   goldenCall
	Config map[string]any
}

type goldenCall struct {
	Text        string
	BaseURI     string `json:"base_uri"`
	URI         string
	Errors      bool
	Keyed       bool
	Parameters  map[string]string
	Columns     map[string]string
	Prefix      string
	PassThrough []string `json:"pass_through"`
	Provenance  bool
	RefreshSecs int64 `json:"refresh_interval_secs"`
	Encoding    Encoding
	Row         map[string]string
	Scored      map[string]string
}

func TestConfigIsThatOfTheGoldenPayloads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(payloads, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden payloads in %s: %v", payloads, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			golden := readGolden(t, file)
			got := sentConfig(t, golden.Call)
			checkOwnFields(t, got, golden.Call.Errors)
			if !reflect.DeepEqual(got, golden.Config) {
				t.Errorf("sends\n%v\nnot\n%v", got, golden.Config)
			}
		})
	}
}

func readGolden(t *testing.T, file string) goldenPayload {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenPayload
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&golden); err != nil {
		t.Fatal(err)
	}
	return golden
}

// sentConfig makes a call and gives what it would send, as plain JSON values.
func sentConfig(t *testing.T, golden goldenCall) map[string]any {
	t.Helper()
	c, err := newCall(goldenOptions(golden))
	if err != nil {
		t.Fatal(err)
	}
	crossing, err := newCrossing(goldenRows(t, golden), goldenScored(t, golden), golden.Errors, c.encoding)
	if err != nil {
		t.Fatal(err)
	}
	file := FromURI(golden.URI)
	if golden.Text != "" {
		file = FromText(golden.Text, golden.BaseURI)
	}
	if err := c.describe(file, crossing); err != nil {
		t.Fatal(err)
	}
	payload, err := c.config.payload()
	if err != nil {
		t.Fatal(err)
	}
	return decodePayload(t, payload)
}

func goldenRows(t *testing.T, golden goldenCall) beam.PCollection {
	t.Helper()
	_, s := beam.NewPipelineWithRoot()
	plain, opaque := map[string]string{"x": "double"}, map[string]string{"x": "double", "taken": "own"}
	switch {
	case maps.Equal(golden.Row, plain) && !golden.Keyed:
		return beam.Create(s, point{})
	case maps.Equal(golden.Row, opaque) && golden.Keyed:
		return beam.AddFixedKey(s, beam.Create(s, photo{}))
	}
	t.Fatalf("the test has no rows %v, keyed %v: add them", golden.Row, golden.Keyed)
	return beam.PCollection{}
}

func goldenScored(t *testing.T, golden goldenCall) reflect.Type {
	t.Helper()
	switch {
	case maps.Equal(golden.Scored, map[string]string{"x": "double", "average": "double"}):
		return reflect.TypeFor[average]()
	case maps.Equal(golden.Scored, map[string]string{"taken": "own", "average": "double"}):
		return reflect.TypeFor[scoredPhoto]()
	}
	t.Fatalf("the test has no scored rows %v: add them", golden.Scored)
	return nil
}

func goldenOptions(golden goldenCall) []Option {
	options := []Option{WithEncoding(golden.Encoding)}
	if golden.Parameters != nil {
		options = append(options, WithParameters(golden.Parameters))
	}
	if golden.Columns != nil {
		options = append(options, WithColumns(golden.Columns))
	}
	if golden.Prefix != "" {
		options = append(options, WithPrefix(golden.Prefix))
	}
	if golden.PassThrough != nil {
		options = append(options, WithPassThrough(golden.PassThrough...))
	}
	if golden.Provenance {
		options = append(options, WithProvenance())
	}
	if golden.RefreshSecs != 0 {
		options = append(options, WithRefreshInterval(time.Duration(golden.RefreshSecs)*time.Second))
	}
	return options
}

// checkOwnFields looks at the fields that differ by language, and takes them
// out or makes them as the golden files write them.
func checkOwnFields(t *testing.T, got map[string]any, withErrors bool) {
	t.Helper()
	if want := "go " + Version; got["client"] != want {
		t.Errorf("client is %v, not %q", got["client"], want)
	}
	delete(got, "client")
	want := []any{"ensemble: string", "node: string", "code: string", "msg: string", "stack: string"}
	if errors, ok := got["errors_schema"].([]any); ok != withErrors {
		t.Errorf("errors_schema is %v", got["errors_schema"])
	} else if withErrors && !reflect.DeepEqual(errors[1:], want) {
		t.Errorf("errors_schema is %v, not the element and %v", errors, want)
	}
	delete(got, "errors_schema")
	if opaque, ok := got["opaque"].(map[string]any); ok {
		for name := range opaque {
			if opaque[name] != "uint64" {
				t.Errorf("opaque[%q] is %v, not uint64", name, opaque[name])
			}
			opaque[name] = "the language's own name"
		}
	}
}

// decodePayload reads a payload as the service does: by the schema in it.
func decodePayload(t *testing.T, payload []byte) map[string]any {
	t.Helper()
	var transform pipepb.SchemaTransformPayload
	if err := proto.Unmarshal(payload, &transform); err != nil {
		t.Fatal(err)
	}
	if transform.GetIdentifier() != "beam:schematransform:io.github.beamensembles:run_ensemble:v1" {
		t.Errorf("the identifier is %q", transform.GetIdentifier())
	}
	row, err := schema.ToType(transform.GetConfigurationSchema())
	if err != nil {
		t.Fatal(err)
	}
	decode, err := coder.RowDecoderForStruct(row)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(bytes.NewReader(transform.GetConfigurationRow()))
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	for i, field := range transform.GetConfigurationSchema().GetFields() {
		config[field.GetName()] = plain(t, reflect.ValueOf(decoded).Field(i))
	}
	return config
}

// plain is the value that a JSON file would have; a schema is its fields.
func plain(t *testing.T, value reflect.Value) any {
	t.Helper()
	if bytes, ok := value.Interface().([]byte); ok {
		return describeSchema(t, bytes)
	}
	if handling, ok := value.Interface().(errorHandling); ok {
		return map[string]any{"output": handling.Output}
	}
	text, err := json.Marshal(value.Interface())
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func describeSchema(t *testing.T, serialized []byte) any {
	t.Helper()
	var fields pipepb.Schema
	if err := proto.Unmarshal(serialized, &fields); err != nil {
		t.Fatal(err)
	}
	if fields.GetId() == "" {
		t.Error("a schema has no id: Go would not find its type again")
	}
	described := []any{}
	for _, field := range fields.GetFields() {
		described = append(described, field.GetName()+": "+describeType(field.GetType()))
	}
	return described
}

// describeType spells a type as the ensemble file does.
func describeType(t *pipepb.FieldType) string {
	name := ""
	switch info := t.GetTypeInfo().(type) {
	case *pipepb.FieldType_AtomicType:
		name = strings.ToLower(info.AtomicType.String())
	case *pipepb.FieldType_ArrayType:
		name = "array<" + describeType(info.ArrayType.GetElementType()) + ">"
	case *pipepb.FieldType_MapType:
		name = "map<" + describeType(info.MapType.GetKeyType()) + "," + describeType(info.MapType.GetValueType()) + ">"
	case *pipepb.FieldType_RowType:
		var fields []string
		for _, field := range info.RowType.GetSchema().GetFields() {
			fields = append(fields, field.GetName()+": "+describeType(field.GetType()))
		}
		name = "row<" + strings.Join(fields, ", ") + ">"
	case *pipepb.FieldType_LogicalType:
		name = info.LogicalType.GetUrn() + " of " + describeType(info.LogicalType.GetRepresentation())
	}
	if t.GetNullable() {
		name += "?"
	}
	return name
}

func TestConfigSendsAnEmptyPassThrough(t *testing.T) {
	var c call
	WithPassThrough()(&c)
	WithParameters(nil)(&c)
	payload, err := c.config.payload()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(decodePayload(t, payload)))
	if want := []string{"pass_through"}; !slices.Equal(got, want) {
		t.Errorf("sends %v, not %v", got, want)
	}
}

func TestConfigPassesOpaqueFieldsInTheirColumn(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	crossing, err := newCrossing(beam.Create(s, photo{}), reflect.TypeFor[scoredPhoto](), false, EncodingRows)
	if err != nil {
		t.Fatal(err)
	}
	got := crossing.passThrough([]string{"taken", "x"})
	if want := []string{"x", "__opaque"}; !slices.Equal(got, want) {
		t.Errorf("passes %v, not %v", got, want)
	}
}

func TestFromFileSendsNoFileThatIsNoText(t *testing.T) {
	for code, text := range map[string]string{"empty_file": " \n", "unreadable_file": "\xff\xfee\x00"} {
		file := filepath.Join(t.TempDir(), "ensemble.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var found *Error
		if err := FromFile(file).describe(&config{}); !errors.As(err, &found) || found.Problems[0].Code != code {
			t.Errorf("%q gives %v, not %s", text, err, code)
		}
	}
}

func TestFromFileLeavesABundleToTheService(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	var c config
	source := FromFile("e-0123456789ab.ensemble.zip")
	if err := source.describe(&c); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(folder, "e-0123456789ab.ensemble.zip"); c.SpecURI != want || c.Spec != "" || c.BaseURI != "" {
		t.Errorf("sends %+v, not the path %s", c, want)
	}
	if source.folder() != folder {
		t.Errorf("a service of its own would trust %s, not %s", source.folder(), folder)
	}
}

func TestARefreshIntervalIsWholeSeconds(t *testing.T) {
	for _, interval := range []time.Duration{-time.Minute, 0, time.Second - 1, 1500 * time.Millisecond} {
		_, s := beam.NewPipelineWithRoot()
		rows := beam.Create(s, point{})
		_, err := TryRun[average](s, rows, FromText("ensemble: x", "/"), WithRefreshInterval(interval))
		checkSays(t, err, fmt.Sprintf("a refresh interval is a whole number of seconds, at least one, not %v", interval))
	}
}
