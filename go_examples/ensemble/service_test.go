package ensemble

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakePython puts a program in the place of Python that runs the service.
func fakePython(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pythonVariable, path)
}

func TestStartedServiceIsReusedAndEndsWithItsInput(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	t.Setenv("LOG", log)
	fakePython(t, `echo "$@" >> "$LOG"
echo "beam-ensembles 0.1.0 listening on 127.0.0.1:12345"
cat
echo ended >> "$LOG"
`)
	var p pool
	for range 2 {
		if s, err := p.of(t.Context(), folder, time.Minute); err != nil || s.Addr() != "127.0.0.1:12345" {
			t.Fatalf("starts %v: %v", s, err)
		}
	}
	p.mu.Lock()
	service := p.started[folder].service
	p.mu.Unlock()
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	flags := strings.Join(serviceFlags(runtime.GOOS), " ")
	want := "-P -m beam_ensembles_service " + flags + " --trust " + folder + "\nended\n"
	if text, _ := os.ReadFile(log); string(text) != want {
		t.Errorf("runs %q, not %q", text, want)
	}
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.started[folder] == nil
	})
}

// TestAStartHoldsUpNoOtherCall has one folder's service start slowly.
func TestAStartHoldsUpNoOtherCall(t *testing.T) {
	slow, fast := t.TempDir(), t.TempDir()
	fakePython(t, `case "$*" in *`+slow+`) cat; exit;; esac
echo "beam-ensembles 0.1.0 listening on 127.0.0.1:12345"
cat
`)
	var p pool
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := p.of(ctx, slow, time.Minute)
		failed <- err
	}()
	waitFor(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.started[slow] != nil
	})
	s, err := p.of(t.Context(), fast, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("a start that nobody waits for any more gives %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started[slow] != nil {
		t.Error("the next call would wait for a start that was given up")
	}
}

func TestStartServiceIsBounded(t *testing.T) {
	fakePython(t, "echo waiting >&2; cat")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrClosed)
	for name, c := range map[string]struct {
		ctx   context.Context
		want  string
		cause error
	}{
		"timeout": {t.Context(), "was not ready within 300ms; allow more with ensemble.WithTimeouts or ServiceOptions.Timeout: waiting", context.DeadlineExceeded},
		"context": {ended, "was given up", os.ErrClosed},
	} {
		_, err := StartService(c.ctx, ServiceOptions{Timeout: 300 * time.Millisecond})
		checkSays(t, err, c.want)
		if !errors.Is(err, c.cause) {
			t.Errorf("%s: gives %v, which is not %v", name, err, c.cause)
		}
	}
}

// records are those of a log.
type records struct {
	slog.Handler
	all []string
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(_ context.Context, record slog.Record) error {
	r.all = append(r.all, record.Level.String()+" "+record.Message)
	return nil
}

func TestStartServiceLogsToItsHandler(t *testing.T) {
	fakePython(t, `echo "2026-11-28 00:00:00,123 WARNING beam_ensembles: careful" >&2
echo "  more of it" >&2
echo "listening on 127.0.0.1:1"
cat
printf "the end" >&2
`)
	log := &records{}
	s, err := StartService(t.Context(), ServiceOptions{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	want := []string{"WARN beam_ensembles: careful", "INFO   more of it", "INFO the end"}
	if !slices.Equal(log.all, want) {
		t.Errorf("logs %q, not %q", log.all, want)
	}
}

func TestStartServiceHandsItsOptionsOn(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	python := filepath.Join(folder, "python")
	write(t, python, "#!/bin/sh\necho \"$@\" > args\necho listening on 127.0.0.1:1\ncat")
	if err := os.Chmod(python, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := StartService(t.Context(), ServiceOptions{
		Python: python, Trust: []string{"models", "gs://bucket/models"}, Flags: []string{"--log-level=error"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	args, _ := os.ReadFile("args")
	want := "--trust " + folder + "/models --trust gs://bucket/models --log-level=error\n"
	if !strings.HasSuffix(string(args), want) {
		t.Errorf("runs with %q, not %q", args, want)
	}
}

func TestServiceFlagsLetInEveryUserOnlyWhereTheSystemTellsNone(t *testing.T) {
	for system, want := range map[string]bool{"linux": false, "darwin": true, "windows": true} {
		if got := slices.Contains(serviceFlags(system), "--insecure"); got != want {
			t.Errorf("%s: --insecure is %v, want %v", system, got, want)
		}
	}
}

func TestStartedServiceSaysWhyItCannotStart(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"it fails":       {"echo first >&2; echo 'No module named beam_ensembles_service' >&2; exit 1", "No module named"},
		"it says little": {"exit 0", "it said nothing"},
	} {
		fakePython(t, c.script)
		_, err := StartService(t.Context(), ServiceOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "first") {
			t.Errorf("%s: says %v, not %q", name, err, c.want)
		}
	}
}

func TestServiceCommandSaysWhatIsMissing(t *testing.T) {
	t.Setenv(pythonVariable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := serviceCommand(t.Context()); err == nil || !strings.Contains(err.Error(), "(pip install '.[all]')") {
		t.Errorf("says %v", err)
	}
}

func TestStartedServiceNamesAWrongPython(t *testing.T) {
	for python, why := range map[string]string{
		"/no/such/python": "no such file or directory",
		"no-such-python":  "executable file not found in $PATH",
	} {
		t.Setenv(pythonVariable, python)
		_, err := StartService(t.Context(), ServiceOptions{})
		want := "cannot be started with BEAM_ENSEMBLES_PYTHON=" + python + ": " + why
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("says %v, not %q", err, want)
		}
	}
}

func TestLinesAreSplitWhereverTheyAreWritten(t *testing.T) {
	var got []string
	w := &lineWriter{each: func(line string) { got = append(got, line) }}
	for _, part := range []string{"one\ntw", "o\r\nthr", "ee\n\nfour"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	w.end()
	if want := []string{"one", "two", "three", "", "four"}; !slices.Equal(got, want) {
		t.Errorf("splits %q, not %q", got, want)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}
