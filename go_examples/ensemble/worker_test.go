package ensemble_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	register.Function2x1(showOutcome)
	register.Function2x1(showFailed)
}

func showOutcome(key int, row outcome) string { return fmt.Sprintf("%d %s", key, asJSON(row)) }

func showFailed(key int, row ensemble.Failed[game]) string {
	return fmt.Sprintf("%d %s", key, asJSON(row.Element))
}

func asJSON(row any) string {
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestIntegrationCarriesRowsInWorkersOfTheirOwn runs the Go part of a pipeline
// as clusters do: in a process that only initialises the program, and never
// sees the pipeline being made.
func TestIntegrationCarriesRowsInWorkersOfTheirOwn(t *testing.T) {
	for _, encoding := range []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow} {
		t.Run(string(encoding), func(t *testing.T) { checkOwnWorkers(t, ensemble.WithEncoding(encoding)) })
	}
}

func checkOwnWorkers(t *testing.T, encoding ensemble.Option) {
	t.Helper()
	scored, failed := filepath.Join(t.TempDir(), "scored"), filepath.Join(t.TempDir(), "failed")
	err := runPipelineIn(t, "EXTERNAL", startPool(t), func(s beam.Scope) {
		rows := beam.AddFixedKey(s, beam.CreateList(s, games))
		good, bad := ensemble.RunWithErrors[outcome](s, rows, ensemble.FromText(ballots, ""), encoding)
		textio.Write(s, scored, beam.ParDo(s, showOutcome, good))
		textio.Write(s, failed, beam.ParDo(s, showFailed, bad))
	})
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, scored, "0 "+asJSON(outcomes[0]), "0 "+asJSON(outcomes[1]))
	checkLines(t, failed, "0 "+asJSON(games[2]))
}

func checkLines(t *testing.T, file string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("writes\n%s\nnot\n%s", got, want)
	}
}

// pool starts workers as Beam's container does: as processes that run this
// program.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	folder string

	mu      sync.Mutex
	workers []*exec.Cmd
}

// startPool gives the address of a pool that ends with the test.
func startPool(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	workers, server := &pool{folder: t.TempDir()}, grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, workers)
	go func() { _ = server.Serve(listener) }() // It ends with Stop.
	t.Cleanup(func() {
		server.Stop()
		workers.kill()
	})
	return listener.Addr().String()
}

func (p *pool) StartWorker(ctx context.Context, request *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	id := request.GetWorkerId()
	info, err := tools.ProvisionInfo(grpcx.WriteWorkerID(ctx, id), request.GetProvisionEndpoint().GetUrl())
	if err != nil {
		return nil, err
	}
	options, err := tools.ProtoToJSON(info.GetPipelineOptions())
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(p.folder, "options")
	if err != nil {
		return nil, err
	}
	if _, err := file.WriteString(options); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	worker := exec.Command(os.Args[0], "--worker=true", "--id="+id,
		"--logging_endpoint="+request.GetLoggingEndpoint().GetUrl(),
		"--control_endpoint="+request.GetControlEndpoint().GetUrl())
	worker.Env = append(os.Environ(), "PIPELINE_OPTIONS_FILE="+file.Name())
	worker.Stderr = os.Stderr
	p.workers = append(p.workers, worker)
	return &fnpb.StartWorkerResponse{}, worker.Start()
}

func (p *pool) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	return &fnpb.StopWorkerResponse{}, nil // It ends with the pool.
}

func (p *pool) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, worker := range p.workers {
		_ = worker.Process.Kill() // It may have ended with the job.
		_ = worker.Wait()
	}
}
