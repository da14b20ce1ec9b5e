package ensemble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestParseErrorFindsEveryProblem(t *testing.T) {
	text := "ensemble 'digits' is not valid: 3 problems\n" +
		"  [unknown_column] nodes.vote.inputs[1]: no column 'forst_proba'; did you mean 'forest_proba'? Columns: a, b\n" +
		"  [bad_name] inputs[\"cust id\"]: 'cust id' cannot be a name: no spaces\n" +
		"  [syntax] $: found [x] y: z\n"
	want := []Problem{
		{"unknown_column", "nodes.vote.inputs[1]", "no column 'forst_proba'; did you mean 'forest_proba'? Columns: a, b"},
		{"bad_name", `inputs["cust id"]`, "'cust id' cannot be a name: no spaces"},
		{"syntax", "$", "found [x] y: z"},
	}
	err := parseError(text)
	if !reflect.DeepEqual(err.Problems, want) {
		t.Errorf("finds %q, not %q", err.Problems, want)
	}
	if err.Error() != strings.TrimSpace(text) {
		t.Errorf("says %q, not the text", err)
	}
}

// TestAnErrorHoldsNothingThatATerminalActsOn makes sure that a service cannot
// write to the terminal of whoever reads its answer.
func TestAnErrorHoldsNothingThatATerminalActsOn(t *testing.T) {
	said := "not valid: 1 problem\r\n  [bad_name] \x1b[2Jinputs: \u202eünsafe\x07\tname\n"
	want := "not valid: 1 problem\n  [bad_name] \ufffd[2Jinputs: \ufffdünsafe\ufffd\tname"
	err := parseError(said)
	if err.Error() != want {
		t.Errorf("says %q, not %q", err, want)
	}
	if len(err.Problems) != 1 || err.Problems[0].Message != "\ufffdünsafe\ufffd\tname" {
		t.Errorf("finds %q", err.Problems)
	}
	if got := failure("ensemble: it says %s", "\x1b]0;x\x07").Error(); got != "ensemble: it says \ufffd]0;x\ufffd" {
		t.Errorf("says %q", got)
	}
}

func TestParseErrorKeepsTextWithoutProblems(t *testing.T) {
	err := parseError("this transform is not served here\n")
	if len(err.Problems) != 0 || err.Error() != "this transform is not served here" {
		t.Errorf("makes %q of the text, with %v", err, err.Problems)
	}
}

func TestRefusalNamesAnOlderService(t *testing.T) {
	for text, older := range map[string]bool{
		"the call is not valid\n  [unknown_option] columns: there is no option 'columns'":                     true,
		"ensemble 'digits' is not valid\n  [unknown_option] nodes.vote.wieghts: 'soft_vote' has no 'wieghts'": false,
		"ensemble 'digits' is not valid\n  [unknown_key] columns: there is no key 'columns'":                  false,
	} {
		if got := strings.Contains(refusal("localhost:8097", text).Error(), "older than this client"); got != older {
			t.Errorf("%q is said to come from an older service: %v", text, got)
		}
	}
}

func TestSourcesSayWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		file Source
		want string
	}{
		{FromFile("nowhere/digits.yaml"), "there is no file '/"},
		{FromFile("."), "cannot be read: is a directory"},
		{FromFile("gs://bucket/digits.yaml"), "use FromURI"},
		{FromText(" \n", "/models"), "the text given to FromText is empty"},
		{FromURI(""), "the URI given to FromURI is empty"},
	} {
		err := c.file.describe(&config{})
		var problems *Error
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: says %v, not one sentence with %q", c.file, err, c.want)
		}
	}
}

func TestRefusalOfBatchesNamesTheWayAround(t *testing.T) {
	text := "  [unknown_option] encoding: there is no option 'encoding'"
	if got := refusal("localhost:8097", text).Error(); !strings.Contains(got, "use the option WithEncoding(EncodingRows)") {
		t.Errorf("says %v", got)
	}
}

func TestSourcesKnowTheirFolder(t *testing.T) {
	for file, want := range map[Source]string{
		FromFile("/models/digits.yaml"):          "/models",
		FromText("ensemble: x", "gs://b/models"): "gs://b/models",
		FromURI("gs://bucket/models/d.yaml"):     "gs://bucket/models",
		FromURI("/models/digits.yaml"):           "/models",
	} {
		if got := file.folder(); got != want {
			t.Errorf("%v lies in %q, not %q", file, got, want)
		}
	}
}

// TestTryRunAlwaysReturnsAnError makes wrong calls of all sorts.
func TestTryRunAlwaysReturnsAnError(t *testing.T) {
	t.Setenv(addrVariable, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrClosed)
	silent := silentAddr(t)
	var noContext context.Context
	_, s := beam.NewPipelineWithRoot()
	rows, file := beam.Create(s, point{}), FromText("ensemble: x", "/")
	for name, c := range map[string]struct {
		scope   beam.Scope
		rows    beam.PCollection
		file    Source
		options []Option
		want    string
		cause   error
	}{
		"no scope":     {beam.Scope{}, rows, file, nil, "use the one of beam.NewPipelineWithRoot", nil},
		"no rows":      {s, beam.PCollection{}, file, nil, "not a PCollection", nil},
		"texts":        {s, beam.Create(s, "x"), file, nil, "rows are structs", nil},
		"no source":    {s, rows, nil, nil, "there is no ensemble file; pass ensemble.FromFile", nil},
		"no option":    {s, rows, file, []Option{WithPrefix(""), nil}, "option 2 of the call is nil", nil},
		"no context":   {s, rows, file, []Option{WithContext(noContext)}, "use context.Background()", nil},
		"no service":   {s, rows, file, []Option{WithService(nil)}, "use what ensemble.StartService returns", nil},
		"two services": {s, rows, file, []Option{WithService(&Service{}), WithExpansionAddr("x:1")}, "take WithExpansionAddr", nil},
		"encoding":     {s, rows, file, []Option{WithEncoding("columns")}, "there is no encoding", nil},
		"time":         {s, rows, file, []Option{WithTimeouts(Timeouts{Start: -1})}, "durations of zero or more", nil},
		"missing file": {s, rows, FromFile("no/file"), nil, "there is no file", os.ErrNotExist},
		"missing CA": {
			s, rows, file, []Option{WithExpansionAddr("localhost:1"), WithTLS(TLS{CA: "no/file"})}, "cannot be read", os.ErrNotExist,
		},
		"no server": {s, rows, file, []Option{WithExpansionAddr(closedAddr(t))}, "connection refused", syscall.ECONNREFUSED},
		"given up":  {s, rows, file, []Option{WithExpansionAddr(silent), WithContext(ctx)}, "was given up", os.ErrClosed},
		"stopped": {
			s, rows, file, []Option{WithExpansionAddr(silent), WithTimeouts(Timeouts{Connect: 200 * time.Millisecond})},
			"did not answer within 200ms; it is stopped or overloaded", context.DeadlineExceeded,
		},
		"stopped, TLS": {
			s, rows, file, []Option{WithExpansionAddr(silent), WithTLS(TLS{}), WithTimeouts(Timeouts{Connect: 200 * time.Millisecond})},
			"did not answer within 200ms", context.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := TryRun[average](c.scope, c.rows, c.file, c.options...)
			checkSays(t, err, c.want)
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%v is not %v", err, c.cause)
			}
		})
	}
}

func TestErrorsHaveTheCodeOfTheirRequest(t *testing.T) {
	service := &fakeService{answer: func() (*jobpb.ExpansionResponse, error) {
		return nil, status.Error(codes.ResourceExhausted, "too many requests")
	}}
	err := tryCall(t, service.start(t))
	checkSays(t, err, "failed: too many requests")
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v has the code %v", err, status.Code(err))
	}
}

// TestExpansionsAreBounded has a service that answers only after the call.
func TestExpansionsAreBounded(t *testing.T) {
	wait, asked := make(chan struct{}), make(chan struct{}, 2)
	defer close(wait)
	addr := (&fakeService{answer: func() (*jobpb.ExpansionResponse, error) {
		asked <- struct{}{}
		<-wait
		return nil, nil
	}}).start(t)
	err := tryCall(t, addr, WithTimeouts(Timeouts{Expand: 100 * time.Millisecond}))
	checkSays(t, err, "did not check the ensemble within 100ms")
	<-asked
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(os.ErrClosed)
	}()
	err = tryCall(t, addr, WithContext(ctx))
	checkSays(t, err, "was given up: file already closed")
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v is not the context's cause", err)
	}
}

// TestDialOptionsLeadToTheService has a service that only a dialer reaches.
func TestDialOptionsLeadToTheService(t *testing.T) {
	addr := (&guarded{token: "t"}).start(t, nil)
	file := write(t, filepath.Join(t.TempDir(), "token"), "t")
	called := false
	intercept := grpc.WithUnaryInterceptor(func(
		ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		called = true
		return invoke(ctx, method, request, response, conn, opts...)
	})
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	})
	checkReached(t, tryCall(t, "localhost:1", WithDialOptions(dial, intercept), WithTokenFile(file)))
	if !called {
		t.Error("the caller's interceptor does not see the requests")
	}
}

func TestAnErrorOfBeamIsWrapped(t *testing.T) {
	own := failure("ensemble: x: %w", os.ErrClosed)
	if got := asError(fmt.Errorf("expanding: %w", own)); got != error(own) || !errors.Is(got, os.ErrClosed) {
		t.Errorf("makes %v of an Error", got)
	}
	if got := asError(os.ErrClosed); got.Error() != "ensemble: file already closed" || !errors.Is(got, os.ErrClosed) {
		t.Errorf("makes %v of another error", got)
	}
}
