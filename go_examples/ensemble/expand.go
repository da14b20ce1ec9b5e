package ensemble

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx/schema"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/xlangx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// expandTimeout bounds the checks of the service, which reads model files.
	expandTimeout = 5 * time.Minute

	rowCoderURN = "beam:coder:row:v1"
)

// expansionHandler is the name under which Beam hands us the expansions of
// our transform. Beam's own handler retries for half a minute where nothing
// listens, and puts the whole request into every error.
const expansionHandler = "beamensembles"

func init() { xlangx.RegisterHandler(expansionHandler, expand) }

func expand(ctx context.Context, params *xlangx.HandlerParams) (*jobpb.ExpansionResponse, error) {
	if err := correctSchemas(params.Req.GetComponents()); err != nil {
		return nil, err
	}
	service, _ := endpointOf(params.Config)
	if started := expansions.get(params.Config); started != nil {
		ctx, params.Req.Transform.UniqueName = started.ctx, started.step
	}
	response, err := service.query(ctx, params.Req)
	if err != nil {
		return nil, err
	}
	if text := response.GetError(); text != "" {
		return nil, refusal(service.addr, text)
	}
	return response, checkOutputs(service.addr, params, response)
}

// expansions are what the calls say that Beam hands to expand without it, by
// the names of their services.
var expansions startedCalls

type startedCalls struct{ byName sync.Map }

// startedCall is a call whose expansion has not ended.
type startedCall struct {
	ctx context.Context
	// step is what the runner is to call its step.
	step string
}

// start remembers a call until the returned function is called.
func (s *startedCalls) start(name string, call startedCall) (end func()) {
	s.byName.Store(name, &call)
	return func() { s.byName.Delete(name) }
}

// get returns the call of a name, or nil.
func (s *startedCalls) get(name string) *startedCall {
	found, _ := s.byName.Load(name)
	call, _ := found.(*startedCall)
	return call
}

// correctSchemas has the request say what Go really writes: see wireAtomics.
func correctSchemas(components *pipepb.Components) error {
	for _, coder := range components.GetCoders() {
		if coder.GetSpec().GetUrn() != rowCoderURN {
			continue
		}
		var inferred pipepb.Schema
		if err := proto.Unmarshal(coder.GetSpec().GetPayload(), &inferred); err != nil {
			return failure("ensemble: reading the schema of a row: %w", err)
		}
		row, err := schema.ToType(&inferred)
		if err != nil {
			return failure("ensemble: finding the type of a row: %w", err)
		}
		wire, err := wireSchema(row)
		if err != nil {
			return failure("ensemble: %w", err)
		}
		if coder.Spec.Payload, err = proto.Marshal(wire); err != nil {
			return failure("ensemble: writing the schema of a row: %w", err)
		}
	}
	return nil
}

// query asks the service to expand a transform.
func (e endpoint) query(ctx context.Context, request *jobpb.ExpansionRequest) (*jobpb.ExpansionResponse, error) {
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	bounded, cancel := context.WithTimeout(ctx, e.timeouts.Expand)
	defer cancel()
	response, err := jobpb.NewExpansionServiceClient(conn).Expand(bounded, request)
	if err != nil {
		if refused := e.refused(err); refused != nil {
			return nil, refused
		}
		if given := e.givenUp(ctx); given != nil {
			return nil, given
		}
		if bounded.Err() != nil {
			return nil, failure("ensemble: the expansion service at %s did not check the ensemble within %v; look into its "+
				"log, or allow more with Expand of ensemble.WithTimeouts", e.addr, e.timeouts.Expand).because(err)
		}
		return nil, failure("ensemble: the expansion service at %s failed: %s", e.addr, status.Convert(err).Message()).because(err)
	}
	return response, nil
}

// refusal turns the error text of the service at addr into an error. An
// option of the call that the service does not know means that the service is
// older than this client, which its text cannot know.
func refusal(addr, text string) error {
	refused := parseError(text)
	known := configFields()
	for _, problem := range refused.Problems {
		if problem.Code == CodeUnknownOption && known[problem.Path] {
			without := "do without the option"
			if problem.Path == encodingOption {
				without = "use the option WithEncoding(EncodingRows)"
			}
			refused.text += fmt.Sprintf("\nThe service at %s is older than this client (%s): update it, "+
				"or %s.", addr, Version, without)
			break
		}
	}
	return refused
}

// checkOutputs makes sure that the response has the outputs that Beam expects,
// which it would panic about.
func checkOutputs(addr string, params *xlangx.HandlerParams, response *jobpb.ExpansionResponse) error {
	var want []string
	for _, output := range params.Outputs() {
		want = append(want, output.Local)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(response.GetTransform().GetOutputs()))
	if slices.Equal(want, got) {
		return nil
	}
	return failure("ensemble: the service at %s answers with the outputs %s, not %s: "+
		"it does not fit to this client (%s)", addr, strings.Join(got, ", "), strings.Join(want, ", "), Version)
}
