package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/load/consent"
)

// oneRequest returns a client for one request, which does not follow redirects.
func oneRequest(
	config *tls.Config, dial func(ctx context.Context, network, _ string) (net.Conn, error),
) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: config, DialContext: dial},
	}
}

// fetchProof reads a proof of consent from its address only. It always checks the certificate, even if
// the load does not.
func (t *Trial) fetchProof(ctx context.Context, p consent.Proof) (text []byte, err error) {
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client := oneRequest(&tls.Config{ServerName: p.Host, RootCAs: t.roots, MinVersion: tls.VersionTLS12},
		func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.Address.String())
		})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Scheme+"://"+p.Address.String()+p.Path,
		nil)
	if err != nil {
		return nil, err
	}
	request.Host = t.at.host // as in the load
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
