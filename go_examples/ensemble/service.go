package ensemble

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
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

// closeTimeout bounds the time that a service has to end after Close.
const closeTimeout = 10 * time.Second

// Service is an expansion service that this process runs: StartService starts
// one. It serves this user of this machine only, without TLS.
type Service struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.WriteCloser // The service lives as long as it is open.
	ended chan struct{}
}

// ServiceOptions configure StartService. The zero value is that of a service
// which trusts no folder.
type ServiceOptions struct {
	// Trust lists the folders and URI prefixes whose model files may run code:
	// pickles, joblib files and Python of bundles.
	Trust []string
	// Python is the Python executable that has beam-ensembles. The default is
	// that at the environment variable BEAM_ENSEMBLES_PYTHON, else the command
	// beam-ensembles, else python3.
	Python string
	// Flags are further flags of `beam-ensembles serve`, such as --log-level=error.
	Flags []string
	// Log gets each line of the service's log. The default passes the lines on
	// to the standard error of this process.
	Log slog.Handler
	// Timeout bounds the start. The default is 60 s.
	Timeout time.Duration
}

// StartService starts an expansion service, and returns when it is ready for
// calls with WithService. It ends with Close, at the latest with this process.
// The context bounds the start only.
//
// A call that names no service starts one by itself. Start one to share it
// among calls, to end it, or to have its log: a test does all three.
func StartService(ctx context.Context, options ServiceOptions) (*Service, error) {
	if ctx == nil {
		return nil, failure("ensemble: the context of ensemble.StartService is nil; use context.Background()")
	}
	command := serviceOf(options.Python)
	if options.Python == "" {
		var err error
		if command, err = serviceCommand(ctx); err != nil {
			return nil, err
		}
	}
	return options.start(ctx, command)
}

// Addr returns where the service listens, as host:port.
func (s *Service) Addr() string { return s.addr }

// Close ends the service, and waits for its end. A pipeline whose workers it
// runs must have ended. Closing it again does nothing.
func (s *Service) Close() error {
	_ = s.stdin.Close() // The service ends when it notices; it may have ended already.
	select {
	case <-s.ended:
		return nil
	case <-time.After(closeTimeout):
	}
	_ = s.cmd.Process.Kill() // It may have ended just now.
	<-s.ended
	return failure("ensemble: the expansion service at %s did not end within %v and was killed", s.addr, closeTimeout)
}

// services are the services that calls of this process have started.
var services pool

// pool has a service for each folder whose models a service trusts. A service
// leaves it when it ends.
type pool struct {
	mu      sync.Mutex
	started map[string]*starting
}

// starting is a service that starts, or has started.
type starting struct {
	// waiting counts the calls that wait for the start, which is given up when
	// there are none left.
	waiting int
	giveUp  context.CancelFunc
	// done is closed when service or err is set.
	done    chan struct{}
	service *Service
	err     error
}

// of returns a service that trusts folder, and starts it where there is none.
// Calls that need it meanwhile wait for the same one; others are not held up.
func (p *pool) of(ctx context.Context, folder string, timeout time.Duration) (*Service, error) {
	s := p.join(folder, timeout)
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.giveUp()
		if s.service == nil {
			p.remove(folder, s) // The next call starts another.
		}
	}
	if ctx.Err() != nil {
		return nil, failure("ensemble: the start of an expansion service was given up: %w", context.Cause(ctx))
	}
	return s.service, s.err
}

// join returns the service of a folder, and counts the caller as waiting.
func (p *pool) join(folder string, timeout time.Duration) *starting {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.started[folder]
	if s == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s = &starting{giveUp: cancel, done: make(chan struct{})}
		if p.started == nil {
			p.started = map[string]*starting{}
		}
		p.started[folder] = s
		go p.run(ctx, folder, timeout, s)
	}
	s.waiting++
	return s
}

// run starts the service of a folder, and has it leave the pool at its end.
func (p *pool) run(ctx context.Context, folder string, timeout time.Duration, s *starting) {
	options := ServiceOptions{Timeout: timeout}
	if folder != "" {
		options.Trust = []string{folder}
	}
	service, err := StartService(ctx, options)
	p.mu.Lock()
	s.service, s.err = service, err
	givenUp := p.started[folder] != s
	p.mu.Unlock()
	close(s.done)
	switch {
	case err == nil && givenUp:
		_ = service.Close() // Nobody is left to be told.
	case err == nil:
		<-service.ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(folder, s)
}

// remove forgets s unless another has taken its place.
func (p *pool) remove(folder string, s *starting) {
	if p.started[folder] == s {
		delete(p.started, folder)
	}
}

// serviceOf runs a service with a Python. It imports nothing from the folder in
// which this process runs (-P), where others may be able to write.
func serviceOf(python string) []string {
	return []string{python, "-P", "-m", "beam_ensembles_service"}
}

// serviceCommand finds how to run a service on this machine.
func serviceCommand(ctx context.Context) ([]string, error) {
	if python := os.Getenv(pythonVariable); python != "" {
		return serviceOf(python), nil
	}
	if path, err := exec.LookPath("beam-ensembles"); err == nil {
		return []string{path, "serve"}, nil
	}
	const find = "import importlib.util as i, sys; sys.exit(i.find_spec('beam_ensembles_service') is None)"
	if path, err := exec.LookPath("python3"); err == nil && exec.CommandContext(ctx, path, "-P", "-c", find).Run() == nil {
		return serviceOf(path), nil
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

// start runs command until it says where it listens.
func (o ServiceOptions) start(ctx context.Context, command []string) (*Service, error) {
	args := append(command[1:], serviceFlags(runtime.GOOS)...)
	for _, place := range o.Trust {
		args = append(args, "--trust", absolutePlace(place))
	}
	cmd := exec.Command(command[0], append(args, o.Flags...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, failure("ensemble: starting the expansion service: %w", err)
	}
	listening, log := make(chan string, 1), &serviceLog{handler: o.Log}
	stderr := &lineWriter{each: log.pass}
	cmd.Stdout = &lineWriter{each: func(line string) { tellAddr(line, listening) }}
	cmd.Stderr = stderr
	cmd.WaitDelay = closeTimeout // for what the service has started
	if err := cmd.Start(); err != nil {
		return nil, o.cannotStart(err)
	}
	s := &Service{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // How it ended shows in its log.
		stderr.end()
	}()
	timeout := cmp.Or(o.Timeout, startTimeout)
	select {
	case s.addr = <-listening:
		return s, nil
	case <-s.ended:
		return nil, failure("ensemble: %s ended before it was ready: %s", strings.Join(command, " "), log.last())
	case <-ctx.Done():
		_ = cmd.Process.Kill() // It may have ended just now.
		return nil, failure("ensemble: the start of %s was given up: %w", strings.Join(command, " "), context.Cause(ctx))
	case <-time.After(timeout):
		_ = cmd.Process.Kill() // It may have ended just now.
		return nil, failure("ensemble: %s was not ready within %v; allow more with ensemble.WithTimeouts or "+
			"ServiceOptions.Timeout: %s", strings.Join(command, " "), timeout, log.last()).because(context.DeadlineExceeded)
	}
}

// absolutePlace makes the path of a folder absolute; URIs stay as they are.
func absolutePlace(place string) string {
	if full, err := filepath.Abs(place); err == nil && !strings.Contains(place, ":") {
		return full
	}
	return place
}

// cannotStart says why the service's program does not run, and names what
// chose the program.
func (o ServiceOptions) cannotStart(err error) error {
	chosen := o.Python + ", the Python of ensemble.ServiceOptions"
	if python := os.Getenv(pythonVariable); o.Python == "" {
		if python == "" {
			return failure("ensemble: the expansion service cannot be started: %w", err)
		}
		chosen = pythonVariable + "=" + python
	}
	// Without the path, which is told already.
	return failure("ensemble: the expansion service cannot be started with %s: %v", chosen, innermost(err)).because(err)
}

var listeningLine = regexp.MustCompile(`listening on (\S+)$`)

// tellAddr tells where a service listens, from a line of its standard output.
func tellAddr(line string, listening chan<- string) {
	if m := listeningLine.FindStringSubmatch(line); m != nil {
		select {
		case listening <- m[1]:
		default: // It is told already.
		}
	}
}

// longestLine bounds, in bytes, what is kept of a line that does not end.
const longestLine = 1 << 20

// lineWriter splits what is written to it into lines.
type lineWriter struct {
	each func(line string)
	rest []byte // The line that has no end yet.
}

// Write takes a part of the text.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			break
		}
		w.rest = rest
		w.each(strings.TrimRight(string(line), "\r"))
	}
	if len(w.rest) > longestLine {
		w.end()
	}
	return len(p), nil
}

// end takes the last line, which may have no end.
func (w *lineWriter) end() {
	if len(w.rest) > 0 {
		w.each(string(w.rest))
		w.rest = nil
	}
}

// serviceLog passes on the lines of a service's log, and remembers the last.
type serviceLog struct {
	handler slog.Handler // nil stands for the standard error of this process.

	mu   sync.Mutex
	text string
}

// logLine is a line that starts a record: its time, level and text.
var logLine = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)$`)

var levels = map[string]slog.Level{
	"DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARNING": slog.LevelWarn, "ERROR": slog.LevelError,
	"CRITICAL": slog.LevelError,
}

func (l *serviceLog) pass(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := strings.TrimSpace(line); text != "" {
		l.text = text
	}
	if l.handler == nil {
		fmt.Fprintln(os.Stderr, line)
		return
	}
	level, message := slog.LevelInfo, line
	if m := logLine.FindStringSubmatch(line); m != nil {
		level, message = levels[m[1]], m[2]
	}
	if ctx := context.Background(); l.handler.Enabled(ctx, level) {
		_ = l.handler.Handle(ctx, slog.NewRecord(time.Now(), level, message, 0)) // There is nowhere to report it.
	}
}

func (l *serviceLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.text, "it said nothing")
}
