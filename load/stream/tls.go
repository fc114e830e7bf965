package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
)

// TLS says how the server is checked. The zero value uses the authorities of this
// host and TLS 1.2 or later.
type TLS struct {
	// Insecure: any certificate will do. See Config.Notes.
	Insecure bool
	// CA are the authorities to trust instead of this host's, in PEM.
	CA []byte
	// ServerName is the name on the certificate, which the server is told (SNI).
	// Empty: the URL's host.
	ServerName string
	// MinVersion is "1.2" or "1.3". Empty: 1.2.
	MinVersion string
}

// compile returns the configuration for connections, nil for clear text. Sessions are
// not resumed: every connection costs a full handshake, as for a new client.
func (t TLS) compile(u *url.URL) (*tls.Config, error) {
	if u.Scheme == "http" {
		return nil, nil
	}
	versions := map[string]uint16{"": tls.VersionTLS12, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}
	lowest, known := versions[t.MinVersion]
	if !known {
		return nil, fmt.Errorf("stream: TLS version %q: use 1.2 or 1.3", t.MinVersion)
	}
	config := &tls.Config{ServerName: t.ServerName, MinVersion: lowest, InsecureSkipVerify: t.Insecure}
	if config.ServerName == "" {
		config.ServerName = u.Hostname()
	}
	if t.CA != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("stream: the file of authorities has no certificate in PEM: give one that begins " +
				"with -----BEGIN CERTIFICATE-----")
		}
	}
	return config, nil
}
