package runneropts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/agnivade/levenshtein"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// valued reads an option's value as what the job service says of it. A job
// service that describes no options, as Prism's, gets whatever it is given.
func valued(name, text string, known []*jobpb.PipelineOptionDescriptor) (*structpb.Value, error) {
	if len(known) == 0 {
		return anyValue(text)
	}
	for _, option := range known {
		if option.GetName() == name {
			return ofType(text, option.GetType())
		}
	}
	far := func(option *jobpb.PipelineOptionDescriptor) int {
		return levenshtein.ComputeDistance(name, option.GetName())
	}
	nearest := slices.MinFunc(known, func(a, b *jobpb.PipelineOptionDescriptor) int {
		return cmp.Compare(far(a), far(b))
	})
	message := fmt.Sprintf("the runner's job service knows %d options, but not this one", len(known))
	if far(nearest) < len(name) {
		message += fmt.Sprintf("; did you mean %s?", nearest.GetName())
	}
	return nil, errors.New(message)
}

func ofType(text string, kind jobpb.PipelineOptionType_Enum) (*structpb.Value, error) {
	switch kind {
	case jobpb.PipelineOptionType_STRING:
		return structpb.NewStringValue(text), nil
	case jobpb.PipelineOptionType_BOOLEAN:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("it takes true or false")
		}
		return structpb.NewBoolValue(value), nil
	case jobpb.PipelineOptionType_INTEGER:
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New("it takes a whole number")
		}
		return structpb.NewNumberValue(float64(value)), nil
	case jobpb.PipelineOptionType_NUMBER:
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("it takes a number")
		}
		return structpb.NewNumberValue(value), nil
	default:
		return anyValue(text)
	}
}

// anyValue reads a value in JSON; what is not JSON is a text.
func anyValue(text string) (*structpb.Value, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		value = text
	}
	return structpb.NewValue(value)
}
