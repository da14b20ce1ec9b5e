package ensemble_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

func init() {
	beam.RegisterType(reflect.TypeFor[parcel]())
	beam.RegisterType(reflect.TypeFor[greeted]())
}

type parcel struct {
	Weight float64 `beam:"weight"`
	Length float64 `beam:"length"`
}

type greeted struct {
	Weight   float64 `beam:"weight"`
	Greeting string  `beam:"greeting"`
}

// startBundled starts a service that expands a bundle for workers which share
// nothing with it; gives its address and the bundle. The program that starts it
// says how it is secured, with files in folder.
func startBundled(t *testing.T, program, folder string) (addr, bundle string) {
	t.Helper()
	python := os.Getenv("BEAM_ENSEMBLES_PYTHON")
	if python == "" {
		t.Skip("BEAM_ENSEMBLES_PYTHON is not set: it says which Python has the service")
	}
	cmd := exec.Command(python, "-m", program, folder)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, bundle, _ = strings.Cut(strings.TrimSpace(line), " ")
	return addr, bundle
}

func TestIntegrationWorkersGetABundleFromTheRunner(t *testing.T) {
	needServers(t)
	addr, bundle := startBundled(t, "tests.support.bundled", t.TempDir())
	checkGreetings(t, bundle, ensemble.WithExpansionAddr(addr))
}

// TestIntegrationBundlesComeOverTLS calls a service that requires a client
// certificate and a token.
func TestIntegrationBundlesComeOverTLS(t *testing.T) {
	needServers(t)
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	addr, bundle := startBundled(t, "tests.support.secured", folder)
	secured := ensemble.WithTLS(ensemble.TLS{CA: file("ca.pem"), Cert: file("client.pem"), Key: file("client.key")})
	for want, options := range map[string][]ensemble.Option{
		"requires TLS":                  nil,
		"requires a client certificate": {ensemble.WithTLS(ensemble.TLS{CA: file("ca.pem")})},
		"requires a token":              {secured},
	} {
		_, s := beam.NewPipelineWithRoot()
		options = append(options, ensemble.WithExpansionAddr(addr))
		_, err := ensemble.TryRun[greeted](s, beam.CreateList(s, []parcel{{1, 2}}), ensemble.FromFile(bundle), options...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("gives %v, not %q", err, want)
		}
	}
	checkGreetings(t, bundle, ensemble.WithExpansionAddr(addr), secured, ensemble.WithTokenFile(file("token")))
}

// checkGreetings runs the ensemble in the bundle.
func checkGreetings(t *testing.T, bundle string, options ...ensemble.Option) {
	t.Helper()
	defer forget()
	err := runPipeline(t, func(s beam.Scope) {
		rows := beam.CreateList(s, []parcel{{1, 2}, {9, 8}})
		collect(s, "greetings", ensemble.Run[greeted](s, rows, ensemble.FromFile(bundle), options...))
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[greeted]bool{}
	for _, one := range collected("greetings") {
		got[one.value.(greeted)] = true
	}
	want := map[greeted]bool{{1, "hello, small"}: true, {9, "hello, large"}: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("gives %v, not %v", got, want)
	}
}
