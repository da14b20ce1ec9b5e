package ensemble

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// These environment variables hold the settings that no option sets.
const (
	caVariable    = "BEAM_ENSEMBLES_TLS_CA"
	certVariable  = "BEAM_ENSEMBLES_TLS_CERT"
	keyVariable   = "BEAM_ENSEMBLES_TLS_KEY"
	tokenVariable = "BEAM_ENSEMBLES_TOKEN_FILE"
)

// systemCA names the certificate authorities of this machine instead of a file.
const systemCA = "system"

// longestFile bounds what is read of a certificate, key or token file, in bytes.
const longestFile = 1 << 20

// TLS holds the files, in PEM, with which a call uses TLS, for a service on
// another machine:
//
//	ensemble.Run[Scored](s, rows, ensemble.FromFile("digits.yaml"),
//		ensemble.WithExpansionAddr("models.example.com:8097"),
//		ensemble.WithTLS(ensemble.TLS{CA: "ca.pem"}),
//		ensemble.WithTokenFile("token"))
//
// The environment variable beside a field sets the field where it is empty. The
// files are read for each request, so new ones need no restart. Bundles are
// fetched with the same TLS and token. A service that this process starts uses
// neither, and ignores the environment variables.
type TLS struct {
	// CA holds the certificate authorities that may sign the service's
	// certificate (BEAM_ENSEMBLES_TLS_CA). "system" means those of this
	// machine; so does "" where the variable is unset too.
	CA string
	// Cert and Key are this client's certificate and private key, for a service
	// that requires one (BEAM_ENSEMBLES_TLS_CERT, BEAM_ENSEMBLES_TLS_KEY).
	Cert, Key string
}

// WithTLS uses TLS to the service at WithExpansionAddr or BEAM_ENSEMBLES_ADDR.
// Without it, TLS is used where one of the environment variables BEAM_ENSEMBLES_TLS_CA,
// BEAM_ENSEMBLES_TLS_CERT and BEAM_ENSEMBLES_TLS_KEY is set.
func WithTLS(files TLS) Option {
	return func(c *call) { c.tls = &files }
}

// WithTokenFile sends the token in the file to the service at WithExpansionAddr
// or BEAM_ENSEMBLES_ADDR. The file is read again for each request, and newlines
// at its end are ignored. Without this option, BEAM_ENSEMBLES_TOKEN_FILE names
// the file. A token is sent only over TLS or to a loopback address.
func WithTokenFile(path string) Option {
	return func(c *call) { c.tokenFile = path }
}

// setting is the value of a setting, and the option or the environment
// variable that it comes from.
type setting struct{ value, from string }

func settingOf(value, option, variable string) setting {
	if value != "" {
		return setting{value, option}
	}
	return setting{os.Getenv(variable), variable}
}

// security is how a call identifies itself, and how it verifies the
// service. The zero value uses neither TLS nor a token.
type security struct {
	ca, cert, key, token setting
	// tls is the setting that turns TLS on; its from is empty where none does.
	tls string
}

// securityOf returns the security of a call with these options.
func securityOf(files *TLS, tokenFile string) security {
	given := TLS{}
	if files != nil {
		given = *files
	}
	s := security{
		ca:    settingOf(given.CA, "ensemble.WithTLS (CA)", caVariable),
		cert:  settingOf(given.Cert, "ensemble.WithTLS (Cert)", certVariable),
		key:   settingOf(given.Key, "ensemble.WithTLS (Key)", keyVariable),
		token: settingOf(tokenFile, "ensemble.WithTokenFile", tokenVariable),
	}
	if files != nil {
		s.tls = "ensemble.WithTLS"
	}
	for _, one := range []setting{s.ca, s.cert, s.key} {
		if s.tls == "" && one.value != "" {
			s.tls = one.from
		}
	}
	return s
}

// check refuses to send a token where others could read it.
func (s security) check(addr, host string) error {
	if s.token.value == "" || s.tls != "" || isLoopback(host) {
		return nil
	}
	return failure("ensemble: the token that %s names is not sent to %s without TLS, because others could read it; "+
		"add ensemble.WithTLS or %s, or use a loopback address", s.token.from, addr, caVariable)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// config reads the files of TLS for a connection to host.
func (s security) config(host string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, NextProtos: []string{"h2"}}
	if s.ca.value != "" && s.ca.value != systemCA {
		authorities, err := readCertificates(s.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		for _, authority := range authorities {
			config.RootCAs.AddCert(authority)
		}
	}
	if s.cert.value == "" && s.key.value == "" {
		return config, nil
	}
	own, err := s.readKeyPair()
	config.Certificates = []tls.Certificate{own}
	return config, err
}

func (s security) readKeyPair() (pair tls.Certificate, err error) {
	if s.cert.value == "" || s.key.value == "" {
		return pair, failure("ensemble: a client certificate needs its private key and the other way round; set both "+
			"Cert and Key of ensemble.WithTLS, or both %s and %s", certVariable, keyVariable)
	}
	if _, err := readCertificates(s.cert); err != nil {
		return pair, err
	}
	cert, err := readFile(s.cert)
	if err != nil {
		return pair, err
	}
	key, err := readFile(s.key)
	if err != nil {
		return pair, err
	}
	pair, err = tls.X509KeyPair(cert, key)
	switch {
	case err == nil:
		return pair, nil
	case bytes.Contains(key, []byte("ENCRYPTED")):
		return pair, failure("ensemble: the private key in %q that %s names is encrypted; decrypt it with "+
			"`openssl pkey`, and protect the file instead", s.key.value, s.key.from)
	case strings.Contains(err.Error(), "does not match"):
		return pair, failure("ensemble: the private key in %q that %s names does not belong to the certificate in %q; "+
			"use the key that the certificate was made with", s.key.value, s.key.from, s.cert.value)
	}
	return pair, failure("ensemble: the file %q that %s names holds no private key in PEM form; "+
		"it must have a block that begins with \"-----BEGIN PRIVATE KEY-----\"", s.key.value, s.key.from)
}

func readCertificates(file setting) (found []*x509.Certificate, err error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, failure("ensemble: certificate %d in the file %q that %s names is malformed; replace the file",
				len(found)+1, file.value, file.from)
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		return nil, failure("ensemble: the file %q that %s names holds no certificate in PEM form; "+
			"it must have a block that begins with \"-----BEGIN CERTIFICATE-----\"", file.value, file.from)
	}
	return found, nil
}

// readFile reads a file that a setting names.
func readFile(file setting) ([]byte, error) {
	info, err := os.Stat(file.value)
	if err != nil {
		return nil, cannotRead(file, err)
	}
	if info.Mode()&os.ModeNamedPipe != 0 { // whose writer would be waited for
		return nil, cannotRead(file, errors.New("it is not a regular file"))
	}
	opened, err := os.Open(file.value)
	if err != nil {
		return nil, cannotRead(file, err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, longestFile))
	if err != nil {
		return nil, cannotRead(file, err)
	}
	return text, nil
}

func cannotRead(file setting, err error) error {
	return failure("ensemble: the file %q that %s names cannot be read: %v; correct the path or the file's permissions",
		file.value, file.from, innermost(err)).because(err)
}

// readToken reads the token of a request; it is empty where none is sent.
func (s security) readToken() (string, error) {
	if s.token.value == "" {
		return "", nil
	}
	text, err := readFile(s.token)
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(text), "\r\n")
	if token == "" {
		return "", failure("ensemble: the file %q that %s names is empty; write the token into it",
			s.token.value, s.token.from)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", failure("ensemble: the file %q that %s names holds no token; "+
			"a token is one line of visible ASCII characters without spaces", s.token.value, s.token.from)
	}
	return token, nil
}

// authorized returns the context of a request that carries the token.
func (s security) authorized(ctx context.Context) (context.Context, error) {
	token, err := s.readToken()
	if err != nil || token == "" {
		return ctx, err
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// sendToken are the options of a connection whose requests carry the token.
// Chained interceptors stay where a caller's dial options have others.
func (s security) sendToken() []grpc.DialOption {
	unary := func(
		ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		ctx, err := s.authorized(ctx)
		if err != nil {
			return err
		}
		return invoke(ctx, method, request, response, conn, opts...)
	}
	stream := func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
		open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		ctx, err := s.authorized(ctx)
		if err != nil {
			return nil, err
		}
		return open(ctx, desc, conn, method, opts...)
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream)}
}
