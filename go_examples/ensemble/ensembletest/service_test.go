package ensembletest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/ensembletest"
)

func TestServiceIsStartedOnce(t *testing.T) {
	folder := t.TempDir()
	python := filepath.Join(folder, "python")
	script := "#!/bin/sh\necho started >> " + folder + "/log\necho listening on 127.0.0.1:1\ncat"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	first := ensembletest.Service(t, ensemble.ServiceOptions{Python: python})
	t.Cleanup(func() { _ = first.Close() })
	if second := ensembletest.Service(t, ensemble.ServiceOptions{Python: python}); second != first {
		t.Error("starts another service for the same options")
	}
	other := ensembletest.Service(t, ensemble.ServiceOptions{Python: python, Trust: []string{"models"}})
	t.Cleanup(func() { _ = other.Close() })
	if log, _ := os.ReadFile(folder + "/log"); string(log) != "started\nstarted\n" {
		t.Errorf("starts services: %q", log)
	}
}

func TestAServiceThatCannotStartFailsTheTest(t *testing.T) {
	r := &recorder{}
	func() {
		defer func() { _ = recover() }()
		ensembletest.Service(r, ensemble.ServiceOptions{Python: "no-such-python"})
	}()
	if !strings.Contains(r.said, "cannot be started with no-such-python") {
		t.Errorf("says %q", r.said)
	}
}
