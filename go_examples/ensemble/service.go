package ensemble

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// pythonVariable names the environment variable with the Python executable
// that runs a service which this process starts.
const pythonVariable = "BEAM_ENSEMBLES_PYTHON"

// startTimeout bounds the time that a service may take to start: importing
// Beam on a cold disk takes most of it.
const startTimeout = 60 * time.Second

// services are the services that this process has started and that still run,
// by the folder whose models they trust. They stop when their standard input
// closes, at the latest with this process.
var services = struct {
	sync.Mutex
	running map[string]*service
}{running: map[string]*service{}}

type service struct {
	addr  string
	stdin io.WriteCloser // Held open: the service lives as long as it is.
}

// startedService gives the address of a service that this process runs and
// that trusts folder, and starts it where there is none.
func startedService(folder string) (string, error) {
	services.Lock()
	defer services.Unlock()
	if s, ok := services.running[folder]; ok {
		return s.addr, nil
	}
	command, err := serviceCommand()
	if err != nil {
		return "", err
	}
	s, ended, err := startService(command, folder)
	if err != nil {
		return "", err
	}
	services.running[folder] = s
	go func() {
		<-ended
		services.Lock()
		defer services.Unlock()
		delete(services.running, folder)
	}()
	return s.addr, nil
}

// serviceCommand finds how to run a service on this machine.
func serviceCommand() ([]string, error) {
	if python := os.Getenv(pythonVariable); python != "" {
		return []string{python, "-m", "beam_ensembles_service"}, nil
	}
	if path, err := exec.LookPath("beam-ensembles"); err == nil {
		return []string{path, "serve"}, nil
	}
	const find = "import importlib.util as i, sys; sys.exit(i.find_spec('beam_ensembles_service') is None)"
	if path, err := exec.LookPath("python3"); err == nil && exec.Command(path, "-c", find).Run() == nil {
		return []string{path, "-m", "beam_ensembles_service"}, nil
	}
	return nil, failure("ensemble: no address of an expansion service is given (WithExpansionAddr or %s), and none "+
		"can be started: install the Python package from a checkout of beam-ensembles (pip install '.[all]'), or set %s "+
		"to a Python that has it",
		addrVariable, pythonVariable)
}

// serviceFlags are the flags of a service that this process starts. It serves
// this user alone, so ensembles may name models without code in any folder, as
// RunEnsemble in Python lets them. Only Linux tells a service which user of the
// machine calls; elsewhere it starts no workers unless it is told to let in
// every user of the machine.
func serviceFlags(system string) []string {
	flags := []string{"--port", "0", "--serve-loopback-worker", "--stop-with-stdin", "--allow-folder", "/"}
	if system != "linux" {
		flags = append(flags, "--insecure")
	}
	return flags
}

// startService runs command until it says where it listens. The channel is
// closed when it has ended.
func startService(command []string, folder string) (*service, <-chan struct{}, error) {
	args := append(command[1:], serviceFlags(runtime.GOOS)...)
	if folder != "" {
		args = append(args, "--trust", folder)
	}
	cmd := exec.Command(command[0], args...)
	log := &tail{out: os.Stderr}
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("ensemble: starting the expansion service: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("ensemble: starting the expansion service: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, cannotStart(err)
	}
	listening, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		watch(stdout, listening)
		_ = cmd.Wait() // How it ended shows in its log.
	}()
	select {
	case addr := <-listening:
		return &service{addr: addr, stdin: stdin}, ended, nil
	case <-ended:
		return nil, nil, failure("ensemble: %s ended before it was ready: %s", strings.Join(command, " "), log.last())
	case <-time.After(startTimeout):
		_ = cmd.Process.Kill() // It may have ended just now.
		return nil, nil, failure("ensemble: %s was not ready within %v: %s",
			strings.Join(command, " "), startTimeout, log.last())
	}
}

// cannotStart says why the service's program does not run, and names the
// variable where that is what chose the program.
func cannotStart(err error) error {
	python := os.Getenv(pythonVariable)
	if python == "" {
		return failure("ensemble: the expansion service cannot be started: %v", err)
	}
	why := err
	for inner := errors.Unwrap(why); inner != nil; inner = errors.Unwrap(why) {
		why = inner // Without the path, which is told already.
	}
	return failure("ensemble: the expansion service cannot be started with %s=%s: %v", pythonVariable, python, why)
}

var listeningLine = regexp.MustCompile(`listening on (\S+)$`)

// watch reads a service's standard output to its end and tells where it
// listens.
func watch(stdout io.Reader, listening chan<- string) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if m := listeningLine.FindStringSubmatch(lines.Text()); m != nil {
			listening <- m[1]
		}
	}
}

// tail passes on what is written to it, and remembers the last line.
type tail struct {
	out io.Writer

	mu   sync.Mutex
	text string
}

// Write passes p on.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.text += string(p)
	if trimmed := strings.TrimRight(t.text, "\n"); strings.Contains(trimmed, "\n") {
		t.text = t.text[strings.LastIndex(trimmed, "\n")+1:]
	}
	t.mu.Unlock()
	return t.out.Write(p)
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line := strings.TrimSpace(t.text); line != "" {
		return line
	}
	return "it said nothing"
}
