package trial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/load/consent"
)

// proofs fetches proofs of consent. Certificates are always checked: whoever may
// skip the check for the load may not skip it for the permission.
type proofs struct {
	roots *x509.CertPool // nil: the host's
}

// fetch reads a proof from its address and nowhere else.
func (f proofs) fetch(ctx context.Context, p consent.Proof) (text []byte, err error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{ServerName: p.Host, RootCAs: f.roots,
				MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				var dialer net.Dialer
				return dialer.DialContext(ctx, network, p.Address.String())
			},
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Scheme+"://"+p.Address.String()+p.Path,
		nil)
	if err != nil {
		return nil, err
	}
	request.Host = p.Host
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, consent.MaxProof+1))
}
