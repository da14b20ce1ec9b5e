package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

// someGames are the rows of the examples.
func someGames() (*beam.Pipeline, beam.Scope, beam.PCollection) {
	pipeline, s := beam.NewPipelineWithRoot()
	return pipeline, s, beam.Create(s, Game{ID: 1, Chances: []float64{0.1, 0.7, 0.2}}, Game{ID: 2, Chances: []float64{1}})
}

func ExampleRun() {
	pipeline, s := beam.NewPipelineWithRoot()
	games := beam.Create(s, Game{ID: 1, Chances: []float64{0.1, 0.7, 0.2}})
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	beam.ParDo0(s, printVerdict, scored)
	if err := beamx.Run(context.Background(), pipeline); err != nil {
		log.Fatal(err)
	}
	// Output: 1: paper (0.7)
}

func ExampleRunWithErrors() {
	pipeline, s, games := someGames()
	scored, failed := ensemble.RunWithErrors[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	beam.ParDo0(s, printVerdict, scored)
	beam.ParDo0(s, printFailed, failed)
	if err := beamx.Run(context.Background(), pipeline); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// 1: paper (0.7)
	// 2: wrong_length
}

func ExampleMetrics() {
	pipeline, s, games := someGames()
	ensemble.RunWithErrors[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	result, err := beamx.RunWithMetrics(context.Background(), pipeline)
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range ensemble.Metrics(result) {
		fmt.Printf("%s: %d rows answered by vote\n", found.Ensemble, found.Of("vote").NumInferences)
	}
	// Output: votes: 1 rows answered by vote
}

func ExampleTryRun() {
	_, s, games := someGames()
	_, err := ensemble.TryRun[Verdict](s, games, ensemble.FromFile("no-such-file.yaml"))
	var invalid *ensemble.Error
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			fmt.Println(problem.Code == ensemble.CodeMissingFile, problem.Path)
		}
	}
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// true $
	// true
}

func ExampleTryRunWithErrors() {
	_, s, games := someGames()
	scored, failed, err := ensemble.TryRunWithErrors[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	fmt.Println(scored.Type(), failed.Type().Type().Name() != "", err)
	// Output: ensemble_test.Verdict true <nil>
}

func ExampleFromFile() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleFromText() {
	const votes = `
ensemble: votes
inputs: {chances: "array<double>[3]"}
nodes:
  vote:
    combine: soft_vote
    inputs: [chances]
    labels: [rock, paper, scissors]
    outputs: {label: string, confidence: double}
`
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromText(votes, ""))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleFromURI() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromURI("gs://models/votes.yaml"))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithParameters() {
	const votes = `
ensemble: votes
inputs: {chances: "array<double>[3]"}
nodes:
  vote:
    combine: soft_vote
    inputs: [chances]
    labels: [rock, paper, "${third}"]
    outputs: {label: string, confidence: double}
`
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromText(votes, ""),
		ensemble.WithParameters(map[string]string{"third": "scissors"}))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithColumns() {
	type bout struct {
		Odds []float64 `beam:"odds"` // what the file calls chances
	}
	type result struct {
		Label string `beam:"label"`
	}
	_, s := beam.NewPipelineWithRoot()
	bouts := beam.Create(s, bout{Odds: []float64{0.1, 0.7, 0.2}})
	scored := ensemble.Run[result](s, bouts, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithColumns(map[string]string{"chances": "odds"}))
	fmt.Println(scored.Type())
	// Output: ensemble_test.result
}

func ExampleWithPrefix() {
	type result struct {
		ID    int64  `beam:"id"`
		Label string `beam:"vote_label"`
	}
	_, s, games := someGames()
	scored := ensemble.Run[result](s, games, ensemble.FromFile("testdata/votes.yaml"), ensemble.WithPrefix("vote_"))
	fmt.Println(scored.Type())
	// Output: ensemble_test.result
}

func ExampleWithPassThrough() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithPassThrough("id")) // chances do not come back
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithProvenance() {
	type provenance struct {
		Ensemble      string            `beam:"ensemble"`
		Digest        string            `beam:"digest"`
		Route         map[string]string `beam:"route"`
		ErrorsIgnored []string          `beam:"errors_ignored"`
	}
	type result struct {
		Label      string     `beam:"label"`
		Provenance provenance `beam:"provenance"`
	}
	_, s, games := someGames()
	scored := ensemble.Run[result](s, games, ensemble.FromFile("testdata/votes.yaml"), ensemble.WithProvenance())
	fmt.Println(scored.Type())
	// Output: ensemble_test.result
}

func ExampleWithRefreshInterval() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithRefreshInterval(time.Minute))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithEncoding() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithEncoding(ensemble.EncodingRows))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithContext() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"), ensemble.WithContext(ctx))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithTimeouts() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithTimeouts(ensemble.Timeouts{Expand: 30 * time.Minute})) // for models in a slow storage
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithDialOptions() {
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithDialOptions(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute})))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}

func ExampleWithExpansionAddr() {
	_, s, games := someGames()
	_, err := ensemble.TryRun[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithExpansionAddr("localhost"))
	fmt.Println(err)
	// Output: ensemble: the address of a service is host:port, such as localhost:8097, not "localhost"
}

func ExampleWithTLS() {
	_, s, games := someGames()
	_, err := ensemble.TryRun[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithExpansionAddr("models.example.com:8097"),
		ensemble.WithTLS(ensemble.TLS{CA: "no-such-file.pem"}))
	fmt.Println(err)
	// Output: ensemble: the file "no-such-file.pem" that ensemble.WithTLS (CA) names cannot be read: no such file or directory; correct the path or the file's permissions
}

func ExampleWithTokenFile() {
	_, s, games := someGames()
	_, err := ensemble.TryRun[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"),
		ensemble.WithExpansionAddr("models.example.com:8097"),
		ensemble.WithTokenFile("token"))
	fmt.Println(err)
	// Output: ensemble: the token that ensemble.WithTokenFile names is not sent to models.example.com:8097 without TLS, because others could read it; add ensemble.WithTLS or BEAM_ENSEMBLES_TLS_CA, or use a loopback address
}

func ExampleStartService() {
	service, err := ensemble.StartService(context.Background(), ensemble.ServiceOptions{
		Trust:   []string{"models"},
		Python:  "no-such-python",
		Timeout: 2 * time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close()
	// Output: ensemble: the expansion service cannot be started with no-such-python, the Python of ensemble.ServiceOptions: executable file not found in $PATH
}

func ExampleWithService() {
	service, err := ensemble.StartService(context.Background(), ensemble.ServiceOptions{Log: slog.DiscardHandler})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	_, s, games := someGames()
	scored := ensemble.Run[Verdict](s, games, ensemble.FromFile("testdata/votes.yaml"), ensemble.WithService(service))
	fmt.Println(scored.Type())
	// Output: ensemble_test.Verdict
}
