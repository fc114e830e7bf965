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

// authority issues the certificates with which the parts of a cluster identify themselves. They are in a
// folder that only this user can read.
type authority struct {
	folder      string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	issued      int64 // the last serial number
}

// newAuthority makes an authority with a self-signed certificate, and the key of service accounts.
func newAuthority(folder string) (*authority, error) {
	a := &authority{folder: folder}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "cleave"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := a.sign("ca", template); err != nil {
		return nil, err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	if err != nil {
		return nil, err
	}
	return a, errors.Join(a.writeKey("accounts.key", accounts), a.write("accounts.pub", "PUBLIC KEY", public))
}

// issue makes the certificate and key of a part, as FILE.crt and FILE.key. name is its user name, group its
// group ("": none), and addresses are the IP addresses or host names of a server.
func (a *authority) issue(file, name, group string, addresses ...string) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	return a.sign(file, template)
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
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lifetime)
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
	return errors.Join(a.write(file+".crt", "CERTIFICATE", text), a.writeKey(file+".key", key))
}

func (a *authority) writeKey(file string, key *ecdsa.PrivateKey) error {
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return a.write(file, "EC PRIVATE KEY", text)
}

func (a *authority) write(file, kind string, text []byte) error {
	return os.WriteFile(a.path(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600)
}

// path returns the path of one of the authority's files.
func (a *authority) path(file string) string { return filepath.Join(a.folder, file) }

// configure writes the kubeconfig with which a part calls the server, using the certificate issued as file,
// and returns its path.
func (a *authority) configure(file, server string) (string, error) {
	path := a.path(file + ".config")
	return path, writeJSON(path, object{
		"apiVersion": "v1", "kind": "Config", "current-context": "cleave",
		"clusters": []object{{"name": "cleave", "cluster": object{"server": server,
			"certificate-authority": a.path("ca.crt")}}},
		"users": []object{{"name": "part", "user": object{"client-certificate": a.path(file + ".crt"),
			"client-key": a.path(file + ".key")}}},
		"contexts": []object{{"name": "cleave", "context": object{"cluster": "cleave", "user": "part"}}},
	})
}

// client returns the TLS configuration of a client with the certificate issued as file.
func (a *authority) client(file string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(a.path(file+".crt"), a.path(file+".key"))
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
