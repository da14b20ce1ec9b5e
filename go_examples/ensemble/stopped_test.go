//go:build unix

package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// serverVariable says that this process is a service: see TestServer.
const serverVariable = "BEAM_ENSEMBLES_TEST_SERVER"

// TestServer is the process of a service that another test stops.
func TestServer(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skipf("%s is not set: another test runs this one in a process of its own", serverVariable)
	}
	addr := serve(t, func(server *grpc.Server) {
		healthpb.RegisterHealthServer(server, health.NewServer())
		jobpb.RegisterExpansionServiceServer(server, builder{})
	})
	fmt.Println("listening on " + addr)
	_, _ = io.Copy(io.Discard, os.Stdin) // It ends with its input, as the service does.
}

// TestAStoppedServiceDidNotAnswer stops the process of a service, as Ctrl-Z
// does: its port still takes connections.
func TestAStoppedServiceDidNotAnswer(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python")
	write(t, python, "#!/bin/sh\n"+serverVariable+"=1 exec "+os.Args[0]+" -test.run='^TestServer$'\n")
	if err := os.Chmod(python, 0o755); err != nil {
		t.Fatal(err)
	}
	service, err := StartService(t.Context(), ServiceOptions{Python: python})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	call := func(options ...Option) error {
		_, s := beam.NewPipelineWithRoot()
		_, err := TryRun[average](s, beam.Create(s, point{}), FromText("ensemble: x", "/"), options...)
		return err
	}
	if err := call(WithService(service)); err != nil {
		t.Fatal(err)
	}
	signal(t, service, syscall.SIGSTOP)
	waitFor(t, func() bool { // The system stops its threads one by one.
		err = call(WithService(service), WithTimeouts(Timeouts{Connect: 300 * time.Millisecond}))
		return err != nil
	})
	checkSays(t, err, "did not answer within 300ms; it is stopped")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", err)
	}
	signal(t, service, syscall.SIGCONT)
	if err := call(WithService(service)); err != nil {
		t.Errorf("does not answer again: %v", err)
	}
}

func signal(t *testing.T, service *Service, what os.Signal) {
	t.Helper()
	if err := service.cmd.Process.Signal(what); err != nil {
		t.Fatal(err)
	}
}
