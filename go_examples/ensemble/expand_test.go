package ensemble

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestTryRunSaysQuicklyThatThereIsNoService(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, c := range map[string]struct{ addr, want string }{
		"nothing listens":    {closedAddr(t), "connection refused"},
		"a web server":       {web.Listener.Addr().String(), "is not a beam-ensembles expansion service"},
		"never answers":      {silentAddr(t), "did not answer within 4s"},
		"other gRPC service": {grpcAddr(t, nil), "is not a beam-ensembles expansion service"},
		"not ready": {
			grpcAddr(t, func(h *health.Server) { h.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING) }),
			"is not ready",
		},
		"no port": {"localhost", "is host:port, such as localhost:8097, not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, s := beam.NewPipelineWithRoot()
			_, err := TryRun[average](s, beam.Create(s, point{}), FromText("ensemble: x", "/"), WithExpansionAddr(c.addr))
			var failed *Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.addr) {
				t.Errorf("says %v, not %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("says more than one line: %v", err)
			}
			if took := time.Since(start); took > 15*dialTimeout {
				t.Errorf("takes %v", took)
			}
		})
	}
}

// TestTryRunReportsWhatTheServiceAnswers plays the service.
func TestTryRunReportsWhatTheServiceAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func() (*jobpb.ExpansionResponse, error)
		want   string
		found  []Problem
	}{
		"problems": {
			func() (*jobpb.ExpansionResponse, error) {
				return &jobpb.ExpansionResponse{Error: "not valid\n  [cycle] nodes.a: a -> b -> a"}, nil
			},
			"not valid\n  [cycle] nodes.a: a -> b -> a",
			[]Problem{{"cycle", "nodes.a", "a -> b -> a"}},
		},
		"a failure": {
			func() (*jobpb.ExpansionResponse, error) { return nil, status.Error(codes.Internal, "out of memory") },
			"failed: out of memory", nil,
		},
		"other outputs": {
			func() (*jobpb.ExpansionResponse, error) {
				outputs := map[string]string{"None": "n1"}
				return &jobpb.ExpansionResponse{Transform: &pipepb.PTransform{Outputs: outputs}}, nil
			},
			"answers with the outputs None, not output", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			service := &fakeService{answer: c.answer}
			_, s := beam.NewPipelineWithRoot()
			_, err := TryRun[verdictOf](s, beam.Create(s, everything{}), FromText("ensemble: x", "/"),
				WithExpansionAddr(service.start(t)), WithEncoding(EncodingRows))
			var failed *Error
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) || !reflect.DeepEqual(failed.Problems, c.found) {
				t.Errorf("says %v with %v, not %q with %v", err, failed.Problems, c.want, c.found)
			}
			checkSentSchema(t, service.request)
		})
	}
}

// verdictOf is a scored row of everything.
type verdictOf struct {
	Label string `beam:"label"`
}

// fakeService is an expansion service that always answers the same.
type fakeService struct {
	jobpb.UnimplementedExpansionServiceServer

	answer  func() (*jobpb.ExpansionResponse, error)
	request *jobpb.ExpansionRequest
}

func (f *fakeService) Expand(_ context.Context, request *jobpb.ExpansionRequest) (*jobpb.ExpansionResponse, error) {
	f.request = request
	return f.answer()
}

func (f *fakeService) start(t *testing.T) string {
	t.Helper()
	return serve(t, func(server *grpc.Server) {
		healthpb.RegisterHealthServer(server, health.NewServer())
		jobpb.RegisterExpansionServiceServer(server, f)
	})
}

// checkSentSchema makes sure that the service is told what Go writes, not what
// Beam infers.
func checkSentSchema(t *testing.T, request *jobpb.ExpansionRequest) {
	t.Helper()
	want, err := wireSchema(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range request.GetTransform().GetInputs() {
		components := request.GetComponents()
		coder := components.GetCoders()[components.GetPcollections()[input].GetCoderId()]
		var sent pipepb.Schema
		if err := proto.Unmarshal(coder.GetSpec().GetPayload(), &sent); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&sent, want) {
			t.Errorf("sends the schema %v, not %v", &sent, want)
		}
		return
	}
	t.Error("sends no input")
}

func TestTryRunSendsBatchesAsBytes(t *testing.T) {
	service := &fakeService{answer: func() (*jobpb.ExpansionResponse, error) {
		return &jobpb.ExpansionResponse{Error: "no"}, nil
	}}
	for name, rows := range map[string]func(s beam.Scope) beam.PCollection{
		"rows":  func(s beam.Scope) beam.PCollection { return beam.Create(s, point{}) },
		"keyed": func(s beam.Scope) beam.PCollection { return beam.AddFixedKey(s, beam.Create(s, point{})) },
	} {
		_, s := beam.NewPipelineWithRoot()
		if _, err := TryRun[average](s, rows(s), FromText("ensemble: x", "/"), WithExpansionAddr(service.start(t))); err == nil {
			t.Fatalf("%s: gives no error", name)
		}
		components := service.request.GetComponents()
		for _, input := range service.request.GetTransform().GetInputs() {
			coder := components.GetCoders()[components.GetPcollections()[input].GetCoderId()]
			if urn := coder.GetSpec().GetUrn(); urn != "beam:coder:bytes:v1" {
				t.Errorf("%s: sends batches in the coder %s", name, urn)
			}
		}
	}
}

func TestRunPanicsWithTheErrorOfTryRun(t *testing.T) {
	defer func() {
		if err, ok := recover().(*Error); !ok || !strings.Contains(err.Error(), "there is no file") {
			t.Errorf("panics with %v", err)
		}
	}()
	_, s := beam.NewPipelineWithRoot()
	Run[average](s, beam.Create(s, point{}), FromFile("nowhere.yaml"))
}

// closedAddr is an address where nothing listens.
func closedAddr(t *testing.T) string {
	t.Helper()
	listener := listen(t)
	listener.Close()
	return listener.Addr().String()
}

// silentAddr is an address where something takes connections and says nothing.
func silentAddr(t *testing.T) string {
	t.Helper()
	return listen(t).Addr().String()
}

// grpcAddr is the address of a gRPC server, with health checks where set is
// given.
func grpcAddr(t *testing.T, set func(*health.Server)) string {
	t.Helper()
	return serve(t, func(server *grpc.Server) {
		if set != nil {
			checks := health.NewServer()
			set(checks)
			healthpb.RegisterHealthServer(server, checks)
		}
	})
}

// serve is the address of a gRPC server that ends with the test.
func serve(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	server, listener := grpc.NewServer(), listen(t)
	register(server)
	go func() { _ = server.Serve(listener) }() // It ends with Stop.
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}
