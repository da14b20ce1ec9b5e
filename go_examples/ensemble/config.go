package ensemble

import (
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/xlangx"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/columns"
)

// Version is the version of this client, which it tells the service.
const Version = "0.1.0"

const (
	transformURN  = "beam:expansion:payload:schematransform:v1"
	runIdentifier = "beam:schematransform:io.github.beamensembles:run_ensemble:v1"

	outputTag = "output"
	errorsTag = "errors"

	encodingOption = "encoding"
)

// config is the configuration row of the service's run_ensemble transform.
// Only the fields that are set are sent, so that services older than a field
// still understand the calls that do not use it.
type config struct {
	Spec          string            `beam:"spec"`
	BaseURI       string            `beam:"base_uri"`
	SpecURI       string            `beam:"spec_uri"`
	Parameters    map[string]string `beam:"parameters"`
	Columns       map[string]string `beam:"columns"`
	Prefix        string            `beam:"prefix"`
	PassThrough   []string          `beam:"pass_through"`
	Provenance    bool              `beam:"provenance"`
	RefreshSecs   int64             `beam:"refresh_interval_secs"`
	ErrorHandling errorHandling     `beam:"error_handling"`
	OutputSchema  []byte            `beam:"output_schema"`
	ErrorsSchema  []byte            `beam:"errors_schema"`
	Opaque        map[string]string `beam:"opaque"`
	Client        string            `beam:"client"`
	Encoding      string            `beam:"encoding"`
	InputSchema   []byte            `beam:"input_schema"`
}

type errorHandling struct {
	Output string `beam:"output"`
}

// row returns a struct value with only the fields of c that are set.
func (c config) row() reflect.Value {
	var fields []reflect.StructField
	var values []reflect.Value
	all := reflect.ValueOf(c)
	for i := range all.NumField() {
		if isSet(all.Field(i)) {
			fields = append(fields, all.Type().Field(i))
			values = append(values, all.Field(i))
		}
	}
	row := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		row.Field(i).Set(value)
	}
	return row
}

// isSet says whether a field is sent: an empty list means something, an empty
// map does not.
func isSet(field reflect.Value) bool {
	if field.Kind() == reflect.Map {
		return field.Len() > 0
	}
	return !field.IsZero()
}

// payload encodes c as the payload of the external transform.
func (c config) payload() ([]byte, error) {
	row, err := xlangx.CreateExternalConfigurationPayload(c.row().Interface())
	if err != nil {
		return nil, fmt.Errorf("ensemble: encoding the config: %w", err)
	}
	return proto.Marshal(&pipepb.SchemaTransformPayload{
		Identifier:          runIdentifier,
		ConfigurationSchema: row.GetSchema(),
		ConfigurationRow:    row.GetPayload(),
	})
}

// configFields returns the names of all fields that a config may have.
func configFields() map[string]bool {
	names := map[string]bool{}
	for t, i := reflect.TypeFor[config](), 0; i < t.NumField(); i++ {
		names[columns.FieldName(t.Field(i))] = true
	}
	return names
}
