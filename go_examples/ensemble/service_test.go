package ensemble

import (
	"io"
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
	for range 2 {
		if addr, err := startedService(folder); err != nil || addr != "127.0.0.1:12345" {
			t.Fatalf("starts %q: %v", addr, err)
		}
	}
	services.Lock()
	stdin := services.running[folder].stdin
	services.Unlock()
	stdin.Close()
	flags := strings.Join(serviceFlags(runtime.GOOS), " ")
	want := "-m beam_ensembles_service " + flags + " --trust " + folder + "\nended\n"
	waitFor(t, func() bool { text, _ := os.ReadFile(log); return string(text) == want })
	waitFor(t, func() bool {
		services.Lock()
		defer services.Unlock()
		return services.running[folder] == nil
	})
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
		_, err := startedService(t.TempDir())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "first") {
			t.Errorf("%s: says %v, not %q", name, err, c.want)
		}
	}
}

func TestServiceCommandSaysWhatIsMissing(t *testing.T) {
	t.Setenv(pythonVariable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := serviceCommand(); err == nil || !strings.Contains(err.Error(), "(pip install '.[all]')") {
		t.Errorf("says %v", err)
	}
}

func TestStartedServiceNamesAWrongPython(t *testing.T) {
	for python, why := range map[string]string{
		"/no/such/python": "no such file or directory",
		"no-such-python":  "executable file not found in $PATH",
	} {
		t.Setenv(pythonVariable, python)
		_, err := startedService(t.TempDir())
		want := "cannot be started with BEAM_ENSEMBLES_PYTHON=" + python + ": " + why
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("says %v, not %q", err, want)
		}
	}
}

func TestTailKeepsTheLastLine(t *testing.T) {
	log := &tail{out: io.Discard}
	for _, part := range []string{"one\ntw", "o\nthr", "ee\n"} {
		if _, err := log.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.last(); got != "three" {
		t.Errorf("keeps %q", got)
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
