package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// The requests to a proxy (package unit/starter), each a line over TLS: "dial HOST:PORT" opens a connection,
// and "count NAME" returns the number of addresses of a name. The proxy answers with a line: ProxyOpen, the
// number, or an error.
const (
	ProxyDial  = "dial "
	ProxyCount = "count "
	ProxyOpen  = "open"
)

// proxyName is the name in the certificate of a proxy.
const proxyName = "proxy"

// NewProxyKey returns a new private key for a proxy and its clients, with its self-signed certificate, as
// PEM.
func NewProxyKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	made := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{proxyName}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotAfter:    time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), // the key is discarded with the proxy
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &made, &made, key.Public(), key)
	own, wrong := x509.MarshalECPrivateKey(key)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: own})...), nil
}

// ProxyTLS returns the TLS configuration with which a proxy and its clients prove to each other that they
// have the same key.
func ProxyTLS(key []byte) (*tls.Config, error) {
	own, err := tls.X509KeyPair(key, key)
	if err != nil {
		return nil, err
	}
	alone := x509.NewCertPool()
	alone.AppendCertsFromPEM(key)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: alone,
		ClientCAs: alone, ClientAuth: tls.RequireAndVerifyClientCert, ServerName: proxyName}, nil
}
