package private

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is the validity of certificates, which is longer than any run.
const lifetime = 30 * 24 * time.Hour

// authority issues the certificates with which servers of a cluster identify themselves, and that of the
// administrator, with which all parts call the API server: nobody else uses the cluster, so they need no
// rights of their own. The files are in a folder that only this user can read.
type authority struct {
	folder      string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	issued      int64 // the last serial number
}

// newAuthority makes an authority with a self-signed certificate.
func newAuthority(folder string) (*authority, error) {
	a := &authority{folder: folder}
	return a, a.sign("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "cleave"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
}

// administrator is the name of the administrator, and of the files of its certificate, key and kubeconfig.
const administrator = "admin"

// issueAdministrator makes the certificate and key of the administrator.
func (a *authority) issueAdministrator() error {
	return a.sign(administrator, &x509.Certificate{
		Subject:  pkix.Name{CommonName: administrator, Organization: []string{"system:masters"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue makes the certificate and key of a server, as NAME.crt and NAME.key. addresses are its IP addresses
// or host names.
func (a *authority) issue(name string, addresses ...string) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	return a.sign(name, template)
}

// sign makes a key and a certificate for it. The first certificate, which is self-signed, becomes the
// authority's.
func (a *authority) sign(file string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.issued++
	template.SerialNumber = big.NewInt(a.issued)
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(lifetime)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	text, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	if a.certificate == nil {
		a.key = key
		if a.certificate, err = x509.ParseCertificate(text); err != nil {
			return err
		}
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(a.write(file+".crt", "CERTIFICATE", text), a.write(file+".key", "EC PRIVATE KEY", secret))
}

func (a *authority) write(file, kind string, text []byte) error {
	return os.WriteFile(a.path(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600)
}

// path returns the path of one of the authority's files.
func (a *authority) path(file string) string { return filepath.Join(a.folder, file) }

// access returns the path of the administrator's kubeconfig.
func (a *authority) access() string { return a.path(administrator + ".config") }

// configure writes the administrator's kubeconfig, for a server.
func (a *authority) configure(server string) error {
	return writeJSON(a.access(), object{
		"apiVersion": "v1", "kind": "Config", "current-context": "cleave",
		"clusters": []object{{"name": "cleave", "cluster": object{"server": server,
			"certificate-authority": a.path("ca.crt")}}},
		"users": []object{{"name": administrator, "user": object{
			"client-certificate": a.path(administrator + ".crt"), "client-key": a.path(administrator + ".key")}}},
		"contexts": []object{{"name": "cleave", "context": object{"cluster": "cleave", "user": administrator}}},
	})
}

// client returns the TLS configuration of the administrator.
func (a *authority) client() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(a.path(administrator+".crt"), a.path(administrator+".key"))
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(a.certificate)
	return &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}}, nil
}

// object is a JSON object.
type object map[string]any

// writeJSON writes a configuration file that only this user can read. Kubernetes reads YAML, and JSON is
// YAML.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
