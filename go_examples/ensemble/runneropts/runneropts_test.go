package runneropts

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// jobService keeps what it is asked to prepare, and does not describe options.
type jobService struct {
	jobpb.UnimplementedJobServiceServer

	prepared map[string]any
}

func (s *jobService) Prepare(
	_ context.Context, request *jobpb.PrepareJobRequest,
) (*jobpb.PrepareJobResponse, error) {
	s.prepared = request.GetPipelineOptions().AsMap()
	return &jobpb.PrepareJobResponse{PreparationId: "1"}, nil
}

// none describes that it has no options, as Prism's does.
type none struct{ *jobService }

func (none) DescribePipelineOptions(
	context.Context, *jobpb.DescribePipelineOptionsRequest,
) (*jobpb.DescribePipelineOptionsResponse, error) {
	return &jobpb.DescribePipelineOptionsResponse{}, nil
}

// flinks describes some of the options of Beam's Flink runner, and a number.
type flinks struct{ *jobService }

func (flinks) DescribePipelineOptions(
	context.Context, *jobpb.DescribePipelineOptionsRequest,
) (*jobpb.DescribePipelineOptionsResponse, error) {
	return &jobpb.DescribePipelineOptionsResponse{Options: []*jobpb.PipelineOptionDescriptor{
		{Name: "streaming", Type: jobpb.PipelineOptionType_BOOLEAN},
		{Name: "max_bundle_size", Type: jobpb.PipelineOptionType_INTEGER},
		{Name: "share", Type: jobpb.PipelineOptionType_NUMBER},
		{Name: "state_backend", Type: jobpb.PipelineOptionType_STRING},
		{Name: "files", Type: jobpb.PipelineOptionType_ARRAY},
		{Name: "parallelism", Type: jobpb.PipelineOptionType_INTEGER},
	}}, nil
}

// prepare gives the SDK's client the options, and has it prepare a job.
func prepare(t *testing.T, service jobpb.JobServiceServer, options ...string) error {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	jobpb.RegisterJobServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	dial, endpoint := grpcx.Dial, *jobopts.Endpoint
	t.Cleanup(func() {
		server.Stop()
		grpcx.Dial, *jobopts.Endpoint = dial, endpoint
		clear(given)
	})
	*jobopts.Endpoint = listener.Addr().String()
	for _, option := range options {
		if err := Add(option); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := jobpb.NewJobServiceClient(conn)
	_, _, _, err = runnerlib.Prepare(ctx, client, nil, &runnerlib.JobOptions{Name: "job", Parallelism: 2})
	return err
}

func TestOptionsGoWithTheJob(t *testing.T) {
	service := flinks{&jobService{}}
	err := prepare(t, service, "streaming=true", "max_bundle_size=1", "max_bundle_size=64", "share=0.5",
		"state_backend=7", `files=["a", "b"]`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"streaming": true, "max_bundle_size": 64.0, "share": 0.5, "state_backend": "7",
		"parallelism": 2.0, "app_name": "job",
	}
	for name, value := range want {
		if got := service.prepared["beam:option:"+name+":v1"]; got != value {
			t.Errorf("%s: got %v, want %v", name, got, value)
		}
	}
	if files, ok := service.prepared["beam:option:files:v1"].([]any); !ok || len(files) != 2 {
		t.Errorf("files: got %v", service.prepared["beam:option:files:v1"])
	}
}

func TestAJobServiceThatDescribesNoOptionsGetsThem(t *testing.T) {
	for name, describes := range map[string]func(*jobService) jobpb.JobServiceServer{
		"none":         func(service *jobService) jobpb.JobServiceServer { return none{service} },
		"no such call": func(service *jobService) jobpb.JobServiceServer { return service },
	} {
		t.Run(name, func(t *testing.T) {
			service := &jobService{}
			if err := prepare(t, describes(service), "anything=5", "word=some text"); err != nil {
				t.Fatal(err)
			}
			if got := service.prepared["beam:option:anything:v1"]; got != 5.0 {
				t.Errorf("got %v", got)
			}
			if got := service.prepared["beam:option:word:v1"]; got != "some text" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWithoutOptionsNothingChanges(t *testing.T) {
	service := flinks{&jobService{}}
	if err := prepare(t, service); err != nil {
		t.Fatal(err)
	}
	if _, found := service.prepared["beam:option:streaming:v1"]; found {
		t.Error("an option came from nowhere")
	}
}

func TestWrongOptionsSayWhatIsRight(t *testing.T) {
	for option, wants := range map[string][]string{
		"streaming":          {"NAME=VALUE", "max_bundle_size=64"},
		"maxBundleSize=64":   {`"maxBundleSize"`, "lower-case"},
		"=64":                {`""`, "lower-case"},
		"max_bundel_size=64": {"--runner_option=max_bundel_size=64", "did you mean max_bundle_size?"},
		"x=1":                {"knows 6 options, but not this one"},
		"streaming=yes":      {"--runner_option=streaming=yes", "true or false"},
		"max_bundle_size=":   {"whole number"},
		"share=half":         {"it takes a number"},
		"parallelism=2":      {"give --parallelism"},
	} {
		t.Run(option, func(t *testing.T) {
			service := flinks{&jobService{}}
			err := prepare(t, service, option)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if service.prepared != nil {
				t.Error("the job was prepared")
			}
		})
	}
}

func TestAllWrongOptionsAreNamedAtOnce(t *testing.T) {
	err := prepare(t, flinks{&jobService{}}, "streaming=yes", "max_bundle_size=64", "share=half")
	if err == nil || !strings.Contains(err.Error(), "share=half: it takes a number\n--runner_option=streaming=yes") {
		t.Errorf("got %v", err)
	}
}
