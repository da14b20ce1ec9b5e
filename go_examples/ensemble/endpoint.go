package ensemble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// dialTimeout bounds the time until a missing service, or a server that is
	// not a service, is reported.
	dialTimeout = 4 * time.Second
	// tlsTimeout bounds the wait for a server that says nothing when it is asked
	// about TLS.
	tlsTimeout = time.Second
	// longestMessage bounds an answer in bytes, as the service bounds its own.
	longestMessage = 64 << 20
)

// endpoint is a service, and how it is connected to.
type endpoint struct {
	addr     string
	security security
	timeouts Timeouts
	dial     []grpc.DialOption
}

// connect opens a connection to the service, and checks that it is a service
// that is ready.
func (e endpoint) connect(ctx context.Context, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	host, _, err := net.SplitHostPort(e.addr)
	if err != nil {
		return nil, failure("ensemble: the address of a service is host:port, such as localhost:8097, not %q", e.addr).because(err)
	}
	if err := e.security.check(e.addr, host); err != nil {
		return nil, err
	}
	if _, err := e.security.readToken(); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, e.timeouts.Connect)
	defer cancel()
	transport, err := e.transport(bounded, host)
	if err != nil {
		return nil, e.explainWait(ctx, bounded, err)
	}
	options := append(e.security.sendToken(), grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(longestMessage)))
	options = append(append(options, more...), e.dial...)
	// passthrough: gRPC's own resolver asks the domain name system for more than
	// the address, which may take seconds.
	conn, err := grpc.NewClient("passthrough:///"+e.addr, options...)
	if err != nil {
		return nil, failure("ensemble: %q is not an address of the form host:port: %w", e.addr, err)
	}
	if err := e.checkHealth(bounded, conn); err != nil {
		conn.Close()
		return nil, e.explainWait(ctx, bounded, err)
	}
	return conn, nil
}

// explainWait returns a better error than err where the connection took too
// long: bounded is the context of the connection, ctx that of the call.
func (e endpoint) explainWait(ctx, bounded context.Context, err error) error {
	if given := e.givenUp(ctx); given != nil {
		return given
	}
	if bounded.Err() == nil {
		return err
	}
	return failure("ensemble: the expansion service at %s did not answer within %v; it is stopped or overloaded, or "+
		"something else listens there: start it again, correct the address, or allow more with Connect of "+
		"ensemble.WithTimeouts", e.addr, e.timeouts.Connect).because(context.DeadlineExceeded)
}

// givenUp returns the error of a call whose context has ended.
func (e endpoint) givenUp(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return failure("ensemble: the call of the expansion service at %s was given up: %w", e.addr, context.Cause(ctx))
}

// transport returns the credentials for the service after it has tried them:
// gRPC's own errors do not tell why TLS fails.
func (e endpoint) transport(ctx context.Context, host string) (credentials.TransportCredentials, error) {
	var config *tls.Config
	if e.security.tls != "" {
		var err error
		if config, err = e.security.config(host); err != nil {
			return nil, err
		}
	}
	if len(e.dial) > 0 { // They may lead elsewhere.
		if config == nil {
			return insecure.NewCredentials(), nil
		}
		return credentials.NewTLS(config), nil
	}
	probe, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.addr)
	if err != nil {
		return nil, failure("ensemble: no expansion service answers at %s (%v); start one with "+
			"`beam-ensembles serve`, or correct the address", e.addr, innermost(err)).because(err)
	}
	defer probe.Close()
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	if err := e.tryTLS(ctx, probe, config); err != nil {
		return nil, err
	}
	return credentials.NewTLS(config), nil
}

// tryTLS starts TLS on probe, and returns an error that explains a failure.
func (e endpoint) tryTLS(ctx context.Context, probe net.Conn, config *tls.Config) error {
	wantsCertificate := false
	config = config.Clone()
	own := config.Certificates
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		wantsCertificate = true
		if len(own) > 0 {
			return &own[0], nil
		}
		return &tls.Certificate{}, nil
	}
	conn := tls.Client(probe, config)
	err := conn.HandshakeContext(ctx)
	if err == nil && wantsCertificate {
		// In TLS 1.3 a server refuses a client's certificate after the handshake.
		_ = conn.SetReadDeadline(time.Now().Add(tlsTimeout)) // The connection is open.
		if _, err = conn.Read(make([]byte, 1)); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			err = nil
		}
	}
	if err == nil {
		return nil
	}
	if wantsCertificate && isRefusal(err) {
		return e.certificateRefused(err)
	}
	return e.explainTLS(err, config.ServerName)
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// isRefusal reports whether the server ended the connection, with or without a
// TLS alert.
func isRefusal(err error) bool {
	return isAlert(err) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset by peer")
}

func isAlert(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "remote error"
}

func (e endpoint) certificateRefused(err error) error {
	if e.security.cert.value == "" {
		return failure("ensemble: the expansion service at %s requires a client certificate; set Cert and Key of "+
			"ensemble.WithTLS, or %s and %s", e.addr, certVariable, keyVariable).because(err)
	}
	return failure("ensemble: the expansion service at %s refuses the client certificate in %q that %s names (%v); "+
		"use one that is valid and signed by a CA of the service's --tls-client-ca",
		e.addr, e.security.cert.value, e.security.cert.from, innermost(err)).because(err)
}

// explainTLS returns an error that says why a TLS connection to host fails.
func (e endpoint) explainTLS(err error, host string) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		header  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &header):
		return failure("ensemble: the server at %s does not use TLS; start the service with --tls-cert and --tls-key, "+
			"or call it without %s", e.addr, e.security.tls).because(err)
	case errors.As(err, &name):
		return failure("ensemble: the certificate of the expansion service at %s is not for the host %q; use an address "+
			"that the certificate names, or a certificate that names this one", e.addr, host).because(err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failure("ensemble: the certificate of the expansion service at %s, or that of its CA, has expired or is "+
			"not valid yet; renew it, or correct the clock of this machine", e.addr).because(err)
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return failure("ensemble: the certificate of the expansion service at %s is not signed by %s; name the CA that "+
			"signed it with ensemble.WithTLS or %s", e.addr, e.security.authorities(), caVariable).because(err)
	}
	return failure("ensemble: the expansion service at %s makes no TLS connection (%v); check that it is a "+
		"beam-ensembles service with --tls-cert", e.addr, innermost(err)).because(err)
}

// authorities names the certificate authorities that are trusted.
func (s security) authorities() string {
	if s.ca.value == "" || s.ca.value == systemCA {
		return "a CA of this machine"
	}
	return "a CA in the file " + s.ca.value + " that " + s.ca.from + " names"
}

// checkHealth checks that conn leads to a service that is ready.
func (e endpoint) checkHealth(ctx context.Context, conn *grpc.ClientConn) error {
	health, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		if refused := e.refused(err); refused != nil {
			return refused
		}
		if e.security.tls == "" && len(e.dial) == 0 && ctx.Err() == nil && speaksTLS(e.addr) {
			return failure("ensemble: the expansion service at %s requires TLS; name the CA that signed its certificate "+
				"with ensemble.WithTLS or %s", e.addr, caVariable).because(err)
		}
		return failure("ensemble: what listens at %s is not a beam-ensembles expansion service (%s); "+
			"correct the address", e.addr, status.Code(err)).because(err)
	}
	if health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return failure("ensemble: the expansion service at %s is not ready (%s)", e.addr, health.GetStatus())
	}
	return nil
}

// speaksTLS reports whether the server at addr uses TLS, whoever it is.
func speaksTLS(addr string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), tlsTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	// Nothing is sent over this connection, so the server's identity does not matter.
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).HandshakeContext(ctx)
	return err == nil || isAlert(err)
}

// refused returns the error of a request that the service refuses from this
// client, and nil for any other error.
func (e endpoint) refused(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	token := e.security.token
	switch answer := status.Convert(err); {
	case answer.Code() == codes.Unauthenticated && token.value == "":
		return failure("ensemble: the expansion service at %s requires a token; name the file that holds it with "+
			"ensemble.WithTokenFile or %s", e.addr, tokenVariable).because(err)
	case answer.Code() == codes.Unauthenticated:
		return failure("ensemble: the expansion service at %s refuses the token in the file %q that %s names; "+
			"use the token of the service's --token-file", e.addr, token.value, token.from).because(err)
	case answer.Code() == codes.PermissionDenied:
		return failure("ensemble: the expansion service at %s refuses this program: %s", e.addr, answer.Message()).because(err)
	}
	return nil
}

// innermost is the plainest part of a network error: "connection refused".
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
