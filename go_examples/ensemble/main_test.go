package ensemble

import (
	"context"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

// point is a row that crosses as it is.
type point struct {
	X float64 `beam:"x"`
}

// average is what the ensembles of the tests make of a point.
type average struct {
	X       float64 `beam:"x"`
	Average float64 `beam:"average"`
}

// photo is a row with a field that cannot cross.
type photo struct {
	X     float64 `beam:"x"`
	Taken uint64  `beam:"taken"`
}

type scoredPhoto struct {
	Taken   uint64  `beam:"taken"`
	Average float64 `beam:"average"`
}

func init() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[point](), reflect.TypeFor[average](), reflect.TypeFor[Failed[point]](),
		reflect.TypeFor[photo](), reflect.TypeFor[scoredPhoto](), reflect.TypeFor[Failed[photo]](),
		reflect.TypeFor[Failed[*photo]](), reflect.TypeFor[everything](), reflect.TypeFor[nested](),
	} {
		beam.RegisterType(t)
	}
}

// Examples are run against the service of the integration tests where there is
// one, else against builder, which only lets a pipeline be built.
const (
	examplesThatRun  = "^Example(Run|RunWithErrors|Metrics|WithService)?$"
	examplesThatFail = "^ExampleFromURI$" // The real service has no such bucket.
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	skip := examplesThatFail
	if os.Getenv("BEAM_ENSEMBLES_PRISM") == "" {
		skip = examplesThatRun
		server, listener := grpc.NewServer(), orPanic(net.Listen("tcp", "127.0.0.1:0"))
		healthpb.RegisterHealthServer(server, health.NewServer())
		jobpb.RegisterExpansionServiceServer(server, builder{})
		go func() { _ = server.Serve(listener) }() // It ends with the process.
		panicOn(os.Setenv(addrVariable, listener.Addr().String()))
	}
	if given := flag.Lookup("test.skip").Value.String(); given != "" {
		skip += "|" + given
	}
	panicOn(flag.Set("test.skip", skip))
	os.Exit(m.Run())
}

func panicOn(err error) {
	if err != nil {
		panic(err)
	}
}

func orPanic[T any](value T, err error) T {
	panicOn(err)
	return value
}

// builder is an expansion service with which a pipeline can be built, but not
// run.
type builder struct {
	jobpb.UnimplementedExpansionServiceServer
}

func (builder) Expand(_ context.Context, request *jobpb.ExpansionRequest) (*jobpb.ExpansionResponse, error) {
	var payload pipepb.SchemaTransformPayload
	if err := proto.Unmarshal(request.GetTransform().GetSpec().GetPayload(), &payload); err != nil {
		return nil, err
	}
	components, outputs := request.GetComponents(), map[string]string{outputTag: outputTag}
	for _, field := range payload.GetConfigurationSchema().GetFields() {
		if field.GetName() == "error_handling" {
			outputs[errorsTag] = errorsTag
		}
	}
	for _, input := range request.GetTransform().GetInputs() {
		for _, output := range outputs {
			components.Pcollections[output] = components.GetPcollections()[input]
		}
	}
	transform := request.GetTransform()
	transform.Outputs = outputs
	return &jobpb.ExpansionResponse{Components: components, Transform: transform}, nil
}

// TestEveryFunctionHasAnExample reads the package's files.
func TestEveryFunctionHasAnExample(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	functions, examples := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			function, ok := declared.(*ast.FuncDecl)
			switch {
			case !ok || function.Recv != nil:
			case strings.HasPrefix(function.Name.Name, "Example"):
				examples[function.Name.Name] = true
			case function.Name.IsExported() && !strings.HasSuffix(file, "_test.go"):
				functions[function.Name.Name] = true
			}
		}
	}
	if len(functions) < 20 {
		t.Errorf("finds only %v", functions)
	}
	for name := range functions {
		if !examples["Example"+name] {
			t.Errorf("%s has no example", name)
		}
	}
}
