package ensemble

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func TestTryRunSaysQuicklyThatThereIsNoService(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, c := range map[string]struct{ addr, want string }{
		"nothing listens":    {closedAddr(t), "connection refused"},
		"a web server":       {web.Listener.Addr().String(), "is not a beam-ensembles expansion service"},
		"never answers":      {silentAddr(t), "is not a beam-ensembles expansion service"},
		"other gRPC service": {grpcAddr(t, nil), "is not a beam-ensembles expansion service"},
		"not ready": {
			grpcAddr(t, func(h *health.Server) { h.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING) }),
			"is not ready",
		},
		"no address": {"localhost", "localhost"},
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
			if took := time.Since(start); took > dialTimeout+2*time.Second {
				t.Errorf("takes %v", took)
			}
		})
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
	server := grpc.NewServer()
	if set != nil {
		checks := health.NewServer()
		set(checks)
		healthpb.RegisterHealthServer(server, checks)
	}
	listener := listen(t)
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
