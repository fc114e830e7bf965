package secure

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	// skew is the longest time by which the clock of a unit's host may be behind that of the conductor.
	skew = 24 * time.Hour
	// lifetime is the time for which certificates are valid. It is longer than any trial.
	lifetime = 90 * 24 * time.Hour
)

// Authority issues the certificates of one trial. Its key exists in memory only.
type Authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// NewAuthority returns a new authority with a self-signed certificate.
func NewAuthority() (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a trial"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-skew), NotAfter: time.Now().Add(lifetime),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(signed)
	return &Authority{key, certificate}, err
}

// Issue returns an identity for units with these names, valid for longer than any trial: the content of a
// file for Read, in PEM, with the private key, its certificate and that of the authority.
func (a *Authority) Issue(names ...string) ([]byte, error) {
	return a.IssueFor(time.Now().Add(-skew), time.Now().Add(lifetime), names...)
}

// IssueFor returns an identity that is valid from one moment until another.
func (a *Authority) IssueFor(from, until time.Time, names ...string) ([]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 64)
	serial, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: from, NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", names[0], err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	for _, block := range []pem.Block{{Type: "PRIVATE KEY", Bytes: private},
		{Type: "CERTIFICATE", Bytes: signed}, {Type: "CERTIFICATE", Bytes: a.certificate.Raw}} {
		if err := pem.Encode(&file, &block); err != nil {
			return nil, err
		}
	}
	return file.Bytes(), nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
