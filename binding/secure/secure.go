// Package secure protects the connections of calls with TLS 1.3 of crypto/tls. Each trial has its own
// authority. Every unit gets a file with its private key, its certificate and the certificate of the
// authority. Certificates name units, not hosts, because the dialled address may be that of a relay or a
// balancer. A caller's certificate must be issued by the authority, but may name any unit.
//
// Entry points: NewAuthority for the conductor, Read for a unit.
package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	// Greeting holds the first bytes of every TLS connection. No HTTP request begins with them.
	Greeting = "\x16\x03"
	// http2 is the ALPN name of HTTP/2, which gRPC clients require.
	http2 = "h2"
	// dialTimeout limits the time to connect, including the handshake.
	dialTimeout = 10 * time.Second
	// handshakeTimeout limits the time of the handshake of an accepted connection.
	handshakeTimeout = 5 * time.Second
)

// Transport protects the connections of a unit. A nil Transport means no TLS.
type Transport struct {
	certificate tls.Certificate
	authority   *x509.CertPool
	mutual      bool
}

// Read returns the Transport of a unit whose identity is in a file. If mutual is set, callers must present a
// certificate, too.
func Read(path string, mutual bool) (*Transport, error) {
	identity, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of this unit: %w", err)
	}
	t, err := New(identity, mutual)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of this unit from %s: %w", path, err)
	}
	return t, nil
}

// New returns the Transport of a unit with an identity from Issue. If mutual is set, callers must present a
// certificate, too.
func New(identity []byte, mutual bool) (*Transport, error) {
	certificate, err := tls.X509KeyPair(identity, identity)
	if err == nil && len(certificate.Certificate) != 2 {
		err = fmt.Errorf("the file has %d certificates, want 2: of the unit and of its authority",
			len(certificate.Certificate))
	}
	if err != nil {
		return nil, err
	}
	authority, err := x509.ParseCertificate(certificate.Certificate[1])
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	t := &Transport{certificate: certificate, authority: x509.NewCertPool(), mutual: mutual}
	t.authority.AddCert(authority)
	t.certificate.Certificate = certificate.Certificate[:1] // peers have the authority's already
	return t, nil
}

// Listener returns a listener whose connections are protected.
func (t *Transport) Listener(listener net.Listener) net.Listener {
	if t == nil {
		return listener
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{t.certificate},
		NextProtos: []string{http2, "http/1.1"}}
	if t.mutual {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = t.authority
	}
	return tls.NewListener(listener, config)
}

// Client returns the configuration of connections to a unit, whose certificate must name it; nil without TLS.
func (t *Transport) Client(unit string) *tls.Config {
	if t == nil {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: t.authority, ServerName: unit}
	if t.mutual {
		config.Certificates = []tls.Certificate{t.certificate}
	}
	return config
}

// Handshake completes the TLS handshake of an accepted connection; it does nothing without TLS. It fails
// after handshakeTimeout. net/http and grpc-go limit handshakes themselves.
func Handshake(accepted net.Conn) error {
	protected, is := accepted.(*tls.Conn)
	if !is {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	return protected.HandshakeContext(ctx)
}

// OverHTTP2 returns a copy of a configuration that negotiates HTTP/2; nil remains nil.
func OverHTTP2(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{http2}
	return config
}

// Dial connects to an address, over TLS if config is not nil.
func Dial(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if config == nil {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
}
