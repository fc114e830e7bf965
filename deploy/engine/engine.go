// Package engine speaks to a Docker daemon, usually that of this host, over its Engine API:
// HTTP on a socket. It has the calls that deployers of containers need and no others. The
// docker program could do the same, but it takes a process of 30 MB for each container that is
// waited for, and few hosts have room for five hundred of them.
//
// Every call is bounded: it fails after Patience if the daemon does not answer, and if the answer
// is too long. Two have no bound of time, since they last as long as the container: Wait, and
// reading the stream of Attach or Follow.
//
// Entry points: Open, OpenNamed for a daemon that the user names, Client.Create, Client.List.
package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
)

// Patience bounds how long the daemon may take to answer a call.
const Patience = time.Minute

// maxAnswer bounds the answer of a daemon, in bytes.
const maxAnswer = 64 << 20

// openPatience bounds how long the daemon may take to answer a ping.
const openPatience = 10 * time.Second

// Client speaks to one daemon. Its methods may be called from several goroutines.
type Client struct {
	address string // in the form of DOCKER_HOST
	version string // of the API, such as "/v1.41"
	scheme  string // http, or https if the daemon is reached by TLS
	login   string // see PullAs
	longest int64  // bound of an answer, in bytes
	http    *http.Client
}

// Open finds the daemon as the docker program does, and returns a client if it answers.
func Open(ctx context.Context) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	name, err := defaultDaemon()
	if err != nil {
		return nil, err
	}
	return OpenNamed(ctx, name)
}

// Unanswered adds advice to the error of a daemon of this host that does not answer; nil stays nil. needs
// begins the message, such as "containers need".
func Unanswered(needs string, err error) error {
	if err == nil {
		return nil
	}
	if _, unfound := exec.LookPath("docker"); unfound != nil && errors.Is(err, fs.ErrNotExist) {
		return &lab.MissingError{What: needs + " Docker, which is not installed here",
			Install: lab.AptInstall("docker.io")}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s Docker's daemon, which this user may not use (%w): join its group, "+
			"for example with: usermod -aG docker USER, and log in again: who is in it has the powers of "+
			"root", needs, err)
	}
	return fmt.Errorf("%s Docker's daemon, which does not answer here (%w): start it, for example with: "+
		"systemctl start docker", needs, err)
}

// OpenAt returns a client of the daemon at an address, in the form of DOCKER_HOST, if it answers.
func OpenAt(ctx context.Context, address string) (*Client, error) {
	return open(ctx, address, nil)
}

// open is OpenAt, over TLS unless secured is nil.
func open(ctx context.Context, address string, secured *tls.Config) (*Client, error) {
	network, at, _ := strings.Cut(address, "://")
	if network != "unix" && network != "tcp" {
		return nil, fmt.Errorf("the Docker daemon is at %q, and only unix:// and tcp:// are supported: forward "+
			"its socket to this host, as with ssh -L /run/theirs.sock:/var/run/docker.sock HOST, and name "+
			"unix:///run/theirs.sock", address)
	}
	c := &Client{address: address, scheme: "http", longest: maxAnswer}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at)
		},
		DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: Patience, TLSClientConfig: secured,
	}}
	if secured != nil {
		c.scheme = "https"
	}
	return c, c.Ping(ctx)
}

// Ping returns an error unless the daemon answers. The first ping sets the version of the API.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openPatience, fmt.Errorf("no answer for %v", openPatience))
	defer cancel()
	answer, err := c.send(ctx, http.MethodGet, "/_ping", nil, nil)
	if err != nil {
		return err
	}
	if version := answer.Header.Get("Api-Version"); c.version == "" && version != "" {
		c.version = "/v" + version
	}
	return answer.Body.Close()
}

// Version returns the version of the API, such as "1.41"; "" before the first answer.
func (c *Client) Version() string { return strings.TrimPrefix(c.version, "/v") }

// Refusal is the error of a daemon that refuses a call.
type Refusal struct {
	Status  int // of HTTP
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// isStatus reports whether an error is a refusal with an HTTP status.
func isStatus(err error, status int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Status == status
}

// call sends a request, with body as JSON unless that is nil, and decodes the answer into result unless that
// is nil. It takes at most Patience.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("no answer for %v", Patience))
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	return c.exchange(ctx, method, path, query, content, result)
}

// exchange sends a request, reads the whole answer and decodes its first value into result, unless that is
// nil.
func (c *Client) exchange(
	ctx context.Context, method, path string, query url.Values, content io.Reader, result any,
) error {
	answer, err := c.send(ctx, method, path, query, content)
	if err != nil {
		return err
	}
	text := bounded.New(answer.Body, c.longest)
	if result != nil {
		err = json.NewDecoder(text).Decode(result)
	}
	_, _ = io.Copy(io.Discard, text) // so that the connection is used again
	return errors.Join(err, answer.Body.Close())
}

// where returns the query for objects that have one of the values of each filter.
func where(filters map[string][]string) url.Values {
	text, _ := json.Marshal(filters) // strings can always be encoded
	return url.Values{"filters": {string(text)}}
}

// send sends a request. An answer of a status of 400 or more is an error, a Refusal.
func (c *Client) send(
	ctx context.Context, method, path string, query url.Values, body io.Reader,
) (*http.Response, error) {
	target := url.URL{Scheme: c.scheme, Host: "docker", Path: c.version + path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	switch {
	case path == loadImage:
		request.Header.Set("Content-Type", "application/x-tar")
	case body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	if c.login != "" && path == createService {
		request.Header.Set("X-Registry-Auth", c.login)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		var located *url.Error // it names an address that we have made up, such as http://docker/v1.41/info
		if errors.As(err, &located) {
			err = located.Err
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("the Docker daemon at %s: %w", c.address, err)
	}
	if answer.StatusCode < 400 {
		return answer, nil
	}
	refusal := &Refusal{Status: answer.StatusCode}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if json.Unmarshal(text, refusal) != nil || refusal.Message == "" {
		refusal.Message = fmt.Sprintf("%s: %.200q", answer.Status, text)
	}
	if strings.Contains(refusal.Message, "no space left on device") {
		refusal.Message += ": make room where Docker has its data, for example with: docker system prune"
	}
	return nil, errors.Join(refusal, err, answer.Body.Close())
}
