package ensemble

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/artifact"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// reached is what a service answers to a call that gets through to it.
const reached = "the call got through"

// guarded is an expansion service that takes only one token, or any where it
// is empty.
type guarded struct {
	jobpb.UnimplementedExpansionServiceServer
	jobpb.UnimplementedArtifactRetrievalServiceServer

	token string
	// staged is the name of the one file that it has for workers.
	staged string
}

func (g *guarded) Expand(context.Context, *jobpb.ExpansionRequest) (*jobpb.ExpansionResponse, error) {
	return &jobpb.ExpansionResponse{Error: reached}, nil
}

func (g *guarded) ResolveArtifacts(
	context.Context, *jobpb.ResolveArtifactsRequest,
) (*jobpb.ResolveArtifactsResponse, error) {
	role, err := proto.Marshal(&pipepb.ArtifactStagingToRolePayload{StagedName: g.staged})
	file := &pipepb.ArtifactInformation{
		TypeUrn: artifact.URNFileArtifact, RoleUrn: artifact.URNStagingTo, RolePayload: role,
	}
	return &jobpb.ResolveArtifactsResponse{Replacements: []*pipepb.ArtifactInformation{file}}, err
}

func (g *guarded) GetArtifact(
	_ *jobpb.GetArtifactRequest, stream jobpb.ArtifactRetrievalService_GetArtifactServer,
) error {
	return stream.Send(&jobpb.GetArtifactResponse{Data: []byte(reached)})
}

func (g *guarded) checked(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	isHealth := strings.HasPrefix(info.FullMethod, "/grpc.health")
	if g.token != "" && !isHealth && !slices.Equal(headers.Get("authorization"), []string{"Bearer " + g.token}) {
		return nil, status.Error(codes.Unauthenticated, "the token is missing or wrong")
	}
	return handle(ctx, request)
}

// start serves until the test ends, without TLS where config is nil.
func (g *guarded) start(t *testing.T, config *tls.Config) string {
	t.Helper()
	options := []grpc.ServerOption{grpc.UnaryInterceptor(g.checked)}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	server, listener := grpc.NewServer(options...), listen(t)
	healthpb.RegisterHealthServer(server, health.NewServer())
	jobpb.RegisterExpansionServiceServer(server, g)
	jobpb.RegisterArtifactRetrievalServiceServer(server, g)
	go func() { _ = server.Serve(listener) }() // It ends with Stop.
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// tryCall calls the service at addr and gives what comes of it.
func tryCall(t *testing.T, addr string, options ...Option) error {
	t.Helper()
	_, s := beam.NewPipelineWithRoot()
	options = append([]Option{WithExpansionAddr(addr)}, options...)
	_, err := TryRun[average](s, beam.Create(s, point{}), FromText("ensemble: x", "/"), options...)
	return err
}

// checkSays makes sure that err is one sentence with these words.
func checkSays(t *testing.T, err error, words ...string) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("gives %#v, not an Error of one line", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("says %q, without %q", err, word)
		}
	}
}

func checkReached(t *testing.T, err error) {
	t.Helper()
	if err == nil || err.Error() != reached {
		t.Errorf("gives %v", err)
	}
}

func TestTryRunSaysWhyTLSFails(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	good := ours.issue(t, "good", time.Hour, "127.0.0.1", "localhost")
	expired := ours.issue(t, "expired", -time.Minute, "127.0.0.1")
	elsewhere := ours.issue(t, "elsewhere", time.Hour, "models.example.com")
	client, stranger := ours.issue(t, "client", time.Hour), other.issue(t, "stranger", time.Hour)
	mutual := func(version uint16) *tls.Config {
		config := good.serverConfig(t)
		config.ClientAuth, config.ClientCAs, config.MaxVersion = tls.RequireAndVerifyClientCert, ours.pool(), version
		return config
	}
	trusted := WithTLS(TLS{CA: ours.file})
	for name, c := range map[string]struct {
		server *tls.Config
		option Option
		want   []string
	}{
		"plain client":                      {good.serverConfig(t), WithPrefix(""), []string{"requires TLS", "ensemble.WithTLS or BEAM_ENSEMBLES_TLS_CA"}},
		"plain client, client certificates": {mutual(0), WithPrefix(""), []string{"requires TLS"}},
		"plain server":                      {nil, trusted, []string{"does not use TLS", "--tls-cert", "without ensemble.WithTLS"}},
		"wrong CA": {good.serverConfig(t), WithTLS(TLS{CA: other.file}), []string{
			"is not signed by a CA in the file " + other.file + " that ensemble.WithTLS (CA) names",
		}},
		"CA of this machine": {good.serverConfig(t), WithTLS(TLS{}), []string{"is not signed by a CA of this machine"}},
		"expired":            {expired.serverConfig(t), trusted, []string{"has expired"}},
		"other host":         {elsewhere.serverConfig(t), trusted, []string{`is not for the host "127.0.0.1"`}},
		"no client certificate": {mutual(0), trusted, []string{
			"requires a client certificate", "Cert and Key of ensemble.WithTLS", "BEAM_ENSEMBLES_TLS_CERT and BEAM_ENSEMBLES_TLS_KEY",
		}},
		"no client certificate, TLS 1.2": {mutual(tls.VersionTLS12), trusted, []string{"requires a client certificate"}},
		"strange client certificate": {mutual(0), WithTLS(TLS{ours.file, stranger.cert, stranger.key}), []string{
			"refuses the client certificate", stranger.cert, "ensemble.WithTLS (Cert)", "--tls-client-ca",
		}},
		"client certificate":          {mutual(0), WithTLS(TLS{ours.file, client.cert, client.key}), nil},
		"client certificate, TLS 1.2": {mutual(tls.VersionTLS12), WithTLS(TLS{ours.file, client.cert, client.key}), nil},
		"TLS":                         {good.serverConfig(t), trusted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := (&guarded{}).start(t, c.server)
			start := time.Now()
			err := tryCall(t, addr, c.option)
			if took := time.Since(start); took > 15*dialTimeout {
				t.Errorf("takes %v", took)
			}
			if c.want == nil {
				checkReached(t, err)
				return
			}
			checkSays(t, err, append(c.want, addr)...)
		})
	}
}

func TestTryRunSaysWhichFileIsWrong(t *testing.T) {
	ours := newAuthority(t, "ours")
	good := ours.issue(t, "good", time.Hour, "127.0.0.1")
	other := ours.issue(t, "other", time.Hour, "127.0.0.1")
	folder := t.TempDir()
	file := func(name, text string) string { return write(t, filepath.Join(folder, name), text) }
	missing := filepath.Join(folder, "missing")
	text := file("text", "no PEM")
	broken := file("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	encrypted := file("encrypted", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	pipe := filepath.Join(folder, "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	addr := (&guarded{}).start(t, good.serverConfig(t))
	for name, c := range map[string]struct {
		files TLS
		want  []string
	}{
		"CA is a pipe":     {TLS{CA: pipe}, []string{pipe, "ensemble.WithTLS (CA)", "not a regular file"}},
		"missing CA":       {TLS{CA: missing}, []string{missing, "ensemble.WithTLS (CA)", "no such file"}},
		"CA is a folder":   {TLS{CA: folder}, []string{folder, "ensemble.WithTLS (CA)", "is a directory"}},
		"CA is text":       {TLS{CA: text}, []string{text, "ensemble.WithTLS (CA)", "holds no certificate", "BEGIN CERTIFICATE"}},
		"broken CA":        {TLS{CA: broken}, []string{broken, "ensemble.WithTLS (CA)", "certificate 1", "malformed"}},
		"missing cert":     {TLS{ours.file, missing, good.key}, []string{missing, "ensemble.WithTLS (Cert)", "no such file"}},
		"cert is text":     {TLS{ours.file, text, good.key}, []string{text, "ensemble.WithTLS (Cert)", "holds no certificate"}},
		"missing key":      {TLS{ours.file, good.cert, missing}, []string{missing, "ensemble.WithTLS (Key)", "no such file"}},
		"key is text":      {TLS{ours.file, good.cert, text}, []string{text, "ensemble.WithTLS (Key)", "holds no private key"}},
		"encrypted key":    {TLS{ours.file, good.cert, encrypted}, []string{encrypted, "is encrypted"}},
		"key of another":   {TLS{ours.file, good.cert, other.key}, []string{other.key, "does not belong to", good.cert}},
		"cert without key": {TLS{CA: ours.file, Cert: good.cert}, []string{"both Cert and Key of ensemble.WithTLS"}},
		"key without cert": {TLS{CA: ours.file, Key: good.key}, []string{"both Cert and Key of ensemble.WithTLS"}},
	} {
		t.Run(name, func(t *testing.T) { checkSays(t, tryCall(t, addr, WithTLS(c.files)), c.want...) })
	}
}

func TestTryRunSendsTheToken(t *testing.T) {
	ours := newAuthority(t, "ours")
	good := ours.issue(t, "good", time.Hour, "127.0.0.1")
	file := func(text string) string { return write(t, filepath.Join(t.TempDir(), "token"), text) }
	service := &guarded{token: "s3cret.t0ken=="}
	plain, secured := service.start(t, nil), service.start(t, good.serverConfig(t))
	right, wrong, empty, lines := file("s3cret.t0ken==\n"), file("other"), file("\n"), file("one\ntwo\n")
	trusted := WithTLS(TLS{CA: ours.file})
	for name, c := range map[string]struct {
		addr    string
		options []Option
		want    []string
	}{
		"loopback":   {plain, []Option{WithTokenFile(right)}, nil},
		"TLS":        {secured, []Option{WithTokenFile(right), trusted}, nil},
		"none":       {plain, nil, []string{"requires a token", "ensemble.WithTokenFile or BEAM_ENSEMBLES_TOKEN_FILE"}},
		"none, TLS":  {secured, []Option{trusted}, []string{"requires a token"}},
		"wrong":      {plain, []Option{WithTokenFile(wrong)}, []string{"refuses the token", wrong, "ensemble.WithTokenFile"}},
		"empty":      {plain, []Option{WithTokenFile(empty)}, []string{empty, "is empty"}},
		"two lines":  {plain, []Option{WithTokenFile(lines)}, []string{lines, "holds no token", "one line"}},
		"missing":    {plain, []Option{WithTokenFile("/no/file")}, []string{"/no/file", "ensemble.WithTokenFile", "no such file"}},
		"elsewhere":  {"192.0.2.1:8097", []Option{WithTokenFile(right)}, []string{"is not sent to 192.0.2.1:8097 without TLS"}},
		"host names": {"localhost.example.com:8097", []Option{WithTokenFile(right)}, []string{"is not sent to", "without TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := tryCall(t, c.addr, c.options...)
			if c.want == nil {
				checkReached(t, err)
				return
			}
			checkSays(t, err, c.want...)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("tells the token: %v", err)
			}
		})
	}
}

func TestTheTokenIsReadForEachRequest(t *testing.T) {
	service := &guarded{token: "new"}
	addr := service.start(t, nil)
	file := write(t, filepath.Join(t.TempDir(), "token"), "old\n")
	checkSays(t, tryCall(t, addr, WithTokenFile(file)), "refuses the token")
	write(t, file, "new\r\n")
	checkReached(t, tryCall(t, addr, WithTokenFile(file)))
}

func TestTryRunTakesSecurityFromTheEnvironment(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	good, client := ours.issue(t, "good", time.Hour, "localhost"), ours.issue(t, "client", time.Hour)
	config := good.serverConfig(t)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ours.pool()
	_, port, _ := net.SplitHostPort((&guarded{token: "t"}).start(t, config))
	addr := "localhost:" + port
	t.Setenv(caVariable, ours.file)
	t.Setenv(certVariable, client.cert)
	t.Setenv(keyVariable, client.key)
	t.Setenv(tokenVariable, write(t, filepath.Join(t.TempDir(), "token"), "t"))
	checkReached(t, tryCall(t, addr))
	checkSays(t, tryCall(t, addr, WithTLS(TLS{CA: other.file})), "is not signed by", "ensemble.WithTLS (CA)")
	checkReached(t, tryCall(t, addr, WithTLS(TLS{Cert: client.cert, Key: client.key})))
	t.Setenv(caVariable, other.file)
	checkSays(t, tryCall(t, addr), "is not signed by", "that BEAM_ENSEMBLES_TLS_CA names")
}

func TestSecurityNeedsAnAddress(t *testing.T) {
	t.Setenv(addrVariable, "")
	for _, option := range []Option{WithTLS(TLS{}), WithTokenFile("token")} {
		checkSays(t, tryCall(t, "", option), "need the address of a service", "ensemble.WithExpansionAddr")
	}
}

func TestOtherUsersAreToldWhatTheServiceSays(t *testing.T) {
	refuse := func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		return nil, status.Error(codes.PermissionDenied, "user 1001 may not connect; --allow-user adds it")
	}
	server, listener := grpc.NewServer(grpc.UnaryInterceptor(refuse)), listen(t)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // It ends with Stop.
	t.Cleanup(server.Stop)
	checkSays(t, tryCall(t, listener.Addr().String()), "refuses this program: user 1001", "--allow-user")
}

// TestArtifactsAreFetchedAsTheCallSays plays Beam, which fetches a bundle when
// a pipeline is run.
func TestArtifactsAreFetchedAsTheCallSays(t *testing.T) {
	ours := newAuthority(t, "ours")
	service := &guarded{token: "t", staged: "bundle"}
	addr := service.start(t, ours.issue(t, "good", time.Hour, "127.0.0.1").serverConfig(t))
	file := write(t, filepath.Join(t.TempDir(), "token"), "t\n")
	known := endpoint{addr: addr, security: securityOf(&TLS{CA: ours.file}, file), timeouts: defaultTimeouts}
	name := known.register()
	if name == addr {
		t.Fatalf("Beam knows the service as %q", name)
	}
	conn, err := grpcx.Dial(context.Background(), name, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = jobpb.NewArtifactRetrievalServiceClient(conn).ResolveArtifacts(context.Background(), &jobpb.ResolveArtifactsRequest{})
	if err != nil {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err = jobpb.NewArtifactRetrievalServiceClient(conn).ResolveArtifacts(context.Background(), &jobpb.ResolveArtifactsRequest{})
	checkSays(t, err, file, "no such file")
}

// TestArtifactsStayInTheirFolder has a service that writes elsewhere.
func TestArtifactsStayInTheirFolder(t *testing.T) {
	folder := t.TempDir()
	for staged, want := range map[string]string{
		"../../escaped": "names a file outside", "/etc/escaped": "names a file outside", "": "names a file outside",
		"models/bundle": "",
	} {
		addr := (&guarded{staged: staged}).start(t, nil)
		dependency := []*pipepb.ArtifactInformation{{TypeUrn: artifact.URNFileArtifact}}
		_, err := artifact.Materialize(context.Background(), endpoint{addr: addr, timeouts: defaultTimeouts}.register(), dependency, "", filepath.Join(folder, "a", "b"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: gives %v, not %q", staged, err, want)
		}
		if found, _ := filepath.Glob(filepath.Join(folder, "escaped")); len(found) > 0 {
			t.Errorf("%q: writes %v", staged, found)
		}
	}
}

func TestLoopbackAddresses(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"0.0.0.0": false, "::": false, "10.0.0.1": false, "127.0.0.1.example.com": false, "localhost.": false, "": false,
	} {
		if isLoopback(host) != want {
			t.Errorf("%q: loopback is %v", host, !want)
		}
	}
}
