package trial

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

const (
	// awaitEvery is the pause between two attempts to reach a target that is not ready.
	awaitEvery = 20 * time.Millisecond
	// firstTimeout is the time limit of the first attempt. It doubles after each attempt that timed out: a
	// load balancer without a server behind it may hold a request for a second.
	firstTimeout = 100 * time.Millisecond
)

// Await waits until the target is ready, for limit at most. With a path, a GET of it must be answered
// with a status below 400; without a path, a connection is enough. It connects only to permitted
// addresses.
func (t *Trial) Await(ctx context.Context, path string, limit time.Duration) error {
	until, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var missing error
	for timeout := firstTimeout; ; {
		err := t.probe(until, path, timeout)
		if err == nil {
			return nil
		}
		if explained := t.explain(err); explained != nil { // waiting does not change a certificate or a protocol
			return explained
		}
		timedOut := errors.Is(err, context.DeadlineExceeded)
		if missing == nil || !timedOut { // an earlier error says more than a time-out
			missing = err
		}
		if timedOut {
			timeout *= 2
		}
		select {
		case <-until.Done():
			return errors.Join(fmt.Errorf("%s is not there after %v: %w", t.spec.Target, limit, missing), ctx.Err())
		case <-time.After(awaitEvery):
		}
	}
}

// probe makes one attempt to reach the target, for limit at most.
func (t *Trial) probe(ctx context.Context, path string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if path == "" {
		connection, err := t.dial(ctx)
		if err != nil {
			return err
		}
		if t.at.secure() {
			config := t.tlsConfig()
			config.NextProtos = []string{"h2", "http/1.1"}
			err = tls.Client(connection, config).HandshakeContext(ctx)
		}
		return errors.Join(err, connection.Close())
	}
	answer, body, err := t.get(ctx, path)
	if err != nil || answer.StatusCode < http.StatusBadRequest {
		return err
	}
	return badStatus(path, answer, body)
}

// badStatus returns the error for an answer to a GET of a path, with the beginning of its body.
func badStatus(path string, answer *http.Response, body string) error {
	return fmt.Errorf("GET %s: status %s, and the answer says: %s", path, answer.Status,
		cmp.Or(body, "nothing more"))
}

// get sends a GET of a path. It returns the answer and the beginning of its body.
func (t *Trial) get(ctx context.Context, path string) (answer *http.Response, body string, err error) {
	client := oneRequest(t.tlsConfig(),
		func(ctx context.Context, _, _ string) (net.Conn, error) { return t.dial(ctx) })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.at.origin()+t.at.path+path, nil)
	if err != nil {
		return nil, "", err
	}
	if answer, err = client.Do(request); err != nil {
		return nil, "", err
	}
	const enough = 1 << 10                                     // bytes; the excerpt is shorter
	data, _ := io.ReadAll(io.LimitReader(answer.Body, enough)) // a partial body is enough
	return answer, record.Excerpt(data), answer.Body.Close()
}

// tlsConfig returns the configuration for connections to the target.
func (t *Trial) tlsConfig() *tls.Config {
	return &tls.Config{RootCAs: t.roots, InsecureSkipVerify: t.spec.Insecure, MinVersion: tls.VersionTLS12,
		ServerName: t.at.name}
}

// explain returns an error with advice if the target has an unexpected certificate or protocol, and nil
// for any other error.
func (t *Trial) explain(err error) error {
	var refused *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return fmt.Errorf("%s has a certificate that is not trusted here: %w: give the certificate of who "+
			"signed it with --ca FILE", t.spec.Target, refused)
	case strings.Contains(err.Error(), `malformed HTTP response "\x00\x00`): // a frame of HTTP/2
		return fmt.Errorf("%s answers in HTTP/2 without being asked, as servers of gRPC do: if it is one, write "+
			"its address with grpc:// and a scenario whose steps have grpc: package.Service/Method", t.spec.Target)
	}
	return nil
}
