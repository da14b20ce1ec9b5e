package ensemble

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/artifact"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Beam 2.77 fetches the files that workers need, such as bundles, when the
// pipeline runs. It knows the service only by an address, connects with neither
// TLS nor a token, and writes each file wherever the service says. So a call
// passes Beam a special name for the service, which the dialer below resolves.

// endpoints are the services that this process calls, by the names that Beam
// knows them by: one per call, because each call may connect in its own way.
var endpoints = struct {
	sync.Mutex
	byName map[string]endpoint
}{byName: map[string]endpoint{}}

// register returns what Beam knows the service as.
func (e endpoint) register() string {
	endpoints.Lock()
	defer endpoints.Unlock()
	name := e.addr + "#" + strconv.Itoa(len(endpoints.byName)+1)
	endpoints.byName[name] = e
	return name
}

// endpointOf returns the service that Beam knows by a name.
func endpointOf(name string) (e endpoint, known bool) {
	endpoints.Lock()
	defer endpoints.Unlock()
	e, known = endpoints.byName[name]
	return e, known
}

func init() { grpcx.Dial = dialer(grpcx.Dial) }

// dialer connects to the services of this package as their calls do, and to
// everything else with plain.
func dialer(
	plain func(context.Context, string, time.Duration) (*grpc.ClientConn, error),
) func(context.Context, string, time.Duration) (*grpc.ClientConn, error) {
	return func(ctx context.Context, name string, timeout time.Duration) (*grpc.ClientConn, error) {
		if e, known := endpointOf(name); known {
			return e.connect(ctx, grpc.WithChainUnaryInterceptor(e.checkArtifacts))
		}
		return plain(ctx, name, timeout)
	}
}

// checkArtifacts refuses files of the service that Beam would write outside of
// its folder for them.
func (e endpoint) checkArtifacts(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if err := invoke(ctx, method, request, response, conn, opts...); err != nil {
		return err
	}
	resolved, isResolved := response.(*jobpb.ResolveArtifactsResponse)
	if !isResolved {
		return nil
	}
	for _, file := range resolved.GetReplacements() {
		var role pipepb.ArtifactStagingToRolePayload
		if file.GetRoleUrn() != artifact.URNStagingTo {
			continue
		}
		if err := proto.Unmarshal(file.GetRolePayload(), &role); err != nil || !filepath.IsLocal(role.GetStagedName()) {
			return failure("ensemble: the expansion service at %s names a file outside of the folder for its files (%q); "+
				"make sure that it is a beam-ensembles service", e.addr, role.GetStagedName())
		}
	}
	return nil
}
