package main

import (
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/xlang"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/xlang/python"
)

const pythonTransform = "beam:transforms:python:fully_qualified_named"

// provider is the Python function that makes the model handler: keyed, with
// Beam's own handler of the framework inside.
const provider = python.CallableSource("tests.benchmarks.members.keyed")

// prediction is the field of Python's PredictionResult that the combination
// needs.
type prediction struct {
	Inference []float64 `beam:"inference"`
}

// noArgs are the positional arguments of RunInference.from_callable.
type noArgs struct{}

// handler are its keyword arguments: the provider, and those of the provider.
type handler struct {
	Provider  python.CallableSource `beam:"model_handler_provider"`
	Framework string                `beam:"framework"`
	URI       string                `beam:"uri"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[prediction]())
	beam.RegisterType(reflect.TypeFor[noArgs]())
	beam.RegisterType(reflect.TypeFor[handler]())
}

// runInference runs a model in Beam's Python RunInference over features, a
// PCollection<KV<int64, []float64>>. It gives a PCollection<KV<int64,
// prediction>>.
func runInference(s beam.Scope, features beam.PCollection, framework, model string) (beam.PCollection, error) {
	s = s.Scope("RunInference " + model)
	transform := python.NewExternalTransform[noArgs, handler]("apache_beam.ml.inference.base.RunInference.from_callable")
	transform.WithKwargs(handler{Provider: provider, Framework: framework, URI: filepath.Join(*models, model)})
	payload := beam.CrossLanguagePayload(transform)
	output := typex.NewKV(typex.New(reflectx.Int64), typex.New(reflect.TypeFor[prediction]()))
	outputs, err := beam.TryCrossLanguage(s, pythonTransform, payload, *expansionAddr,
		beam.UnnamedInput(features), map[string]typex.FullType{xlang.SetOutputCoder: output})
	if err != nil {
		return beam.PCollection{}, fmt.Errorf("expanding RunInference of %s: %w", model, err)
	}
	return outputs[beam.UnnamedOutputTag()], nil
}

// members takes the one prediction of each member.
func members(iterators ...func(*prediction) bool) [][]float64 {
	found := make([][]float64, len(iterators))
	for i, next := range iterators {
		var p prediction
		if !next(&p) {
			panic(fmt.Sprintf("no prediction of member %d", i))
		}
		found[i] = p.Inference
	}
	return found
}
