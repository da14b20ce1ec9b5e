package ensemble

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// Beam 2.77 fetches the files that workers need, such as bundles, when the
// pipeline is run. It knows the service by an address only, and connects with
// neither TLS nor a token. So a call that has one of them gives Beam a name of
// its own for the service, which the dialer below knows.

// endpoints are the services that this process calls with TLS or a token.
var endpoints = struct {
	sync.Mutex
	names  map[endpoint]string
	byName map[string]endpoint
}{names: map[endpoint]string{}, byName: map[string]endpoint{}}

// name is what Beam knows the service as.
func (e endpoint) name() string {
	if e.security.tls == "" && e.security.token.value == "" {
		return e.addr
	}
	endpoints.Lock()
	defer endpoints.Unlock()
	name, known := endpoints.names[e]
	if !known {
		name = e.addr + "#" + strconv.Itoa(len(endpoints.names)+1)
		endpoints.names[e], endpoints.byName[name] = name, e
	}
	return name
}

// endpointOf gives the service that Beam knows by a name.
func endpointOf(name string) (e endpoint, isSecured bool) {
	endpoints.Lock()
	defer endpoints.Unlock()
	if e, isSecured = endpoints.byName[name]; !isSecured {
		e.addr = name
	}
	return e, isSecured
}

func init() { grpcx.Dial = dialer(grpcx.Dial) }

// dialer connects to the services of this package as their calls do, and to
// everything else by plain.
func dialer(
	plain func(context.Context, string, time.Duration) (*grpc.ClientConn, error),
) func(context.Context, string, time.Duration) (*grpc.ClientConn, error) {
	return func(ctx context.Context, name string, timeout time.Duration) (*grpc.ClientConn, error) {
		if e, isSecured := endpointOf(name); isSecured {
			return e.connect(ctx)
		}
		return plain(ctx, name, timeout)
	}
}
