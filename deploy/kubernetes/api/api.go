// Package api is a client of the Kubernetes API for the few requests that the laboratory makes, as JSON over
// HTTPS. The official client would add some 40 MB to cleave.
//
// Source: the API reference of Kubernetes 1.34.
//
// Entry points: New, or Open for a cluster of the user's; then Client.Do, Watch, Stream, Forward, Exec.
package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/bounded"
)

// Client is a client of one API server.
type Client struct {
	address string // https://host:port
	trust   *tls.Config
	token   func(context.Context) (string, error) // returns the bearer token; nil: a certificate is used
	http    *http.Client
}

// New returns a client of the server at an address, https://host:port.
func New(address string, trust *tls.Config) *Client {
	return &Client{address: address, trust: trust, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: trust, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
	}}}
}

const (
	// patience limits how long a request of Do may take. Streams have no limit.
	patience = time.Minute
	// maxAnswer is the longest answer, and the longest event of a watch; maxRefusal is the longest body of a
	// Refusal. Both are in bytes.
	maxAnswer, maxRefusal = 64 << 20, 1 << 20
)

// silence is the idle time of a connection after which an HTTP/2 ping is sent, and the longest wait for its
// answer.
const silence = 10 * time.Second

// Address returns the address of the server, https://host:port.
func (c *Client) Address() string { return c.address }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Refusal is the server's answer to a request that it does not fulfil.
type Refusal struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Error implements error.
func (r *Refusal) Error() string {
	reason := cmp.Or(r.Reason, http.StatusText(r.Code))
	return fmt.Sprintf("%s (status %d %s)", r.Message, r.Code, reason)
}

// NotFound reports whether the server has answered that the object does not exist.
func NotFound(err error) bool { return isRefused(err, http.StatusNotFound) }

// Forbidden reports whether the server has answered that the user lacks the right.
func Forbidden(err error) bool { return isRefused(err, http.StatusForbidden) }

// isRefused reports whether the server has answered with a status.
func isRefused(err error, code int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// Do sends a request to a path, with send as its JSON body unless that is nil, and decodes the JSON of the
// answer into answer unless that is nil.
func (c *Client) Do(ctx context.Context, method, path string, send, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer for %v", patience))
	defer cancel()
	body, err := c.ask(ctx, method, path, send)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(bounded.New(body, maxAnswer))
	err = errors.Join(err, body.Close())
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("read the answer of Kubernetes to %s %s: %w", method, path, err)
	}
	return nil
}

// Delete deletes the objects at a path. It succeeds if there are none.
func (c *Client) Delete(ctx context.Context, path string) error {
	if err := c.Do(ctx, http.MethodDelete, path, nil, nil); !NotFound(err) {
		return err
	}
	return nil
}

// Stream returns the body of an answer that may never end, such as a log. The caller closes it.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.ask(ctx, http.MethodGet, path, nil)
}

// ask sends a request and returns the body of the answer. A status of 300 or more becomes a Refusal.
func (c *Client) ask(ctx context.Context, method, path string, send any) (io.ReadCloser, error) {
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if err := c.authorize(ctx, request.Header); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("ask Kubernetes: %w", err)
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	text, err := io.ReadAll(bounded.New(response.Body, maxRefusal))
	err = errors.Join(err, response.Body.Close())
	refusal := &Refusal{Code: response.StatusCode}
	if json.Unmarshal(text, refusal) != nil || refusal.Message == "" {
		refusal.Message = strings.TrimSpace(string(text))
	}
	return nil, errors.Join(fmt.Errorf("%s %s: %w", method, path, refusal), err)
}

// authorize adds the bearer token, if the client has one.
func (c *Client) authorize(ctx context.Context, header http.Header) error {
	if c.token == nil {
		return nil
	}
	token, err := c.token(ctx)
	if err != nil {
		return fmt.Errorf("prove to Kubernetes who asks: %w", err)
	}
	header.Set("Authorization", "Bearer "+token)
	return nil
}

// Pods returns the pods of a namespace with a label, NAME=VALUE. version is the version of the list, from
// which Watch continues.
func (c *Client) Pods(ctx context.Context, namespace, label string) (pods []Pod, version string, err error) {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []Pod `json:"items"`
	}
	err = c.Do(ctx, http.MethodGet, podsOf(namespace, label), nil, &list)
	return list.Items, list.Metadata.ResourceVersion, err
}

// podsOf returns the path of the pods of a namespace with a label.
func podsOf(namespace, label string) string {
	return "/api/v1/namespaces/" + namespace + "/pods?labelSelector=" + url.QueryEscape(label)
}

// Watch calls tell for every change, since a version, of the pods that Pods lists. gone is true if the pod
// was deleted. Watch always returns an error, because servers end every watch after a while.
func (c *Client) Watch(
	ctx context.Context, namespace, label, version string, tell func(pod Pod, gone bool),
) error {
	body, err := c.Stream(ctx, podsOf(namespace, label)+"&watch=1&resourceVersion="+version)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	events := bounded.New(body, maxAnswer)
	decoder := json.NewDecoder(events)
	for {
		events.Next() // maxAnswer is the limit of one event
		var event struct {
			Type   string
			Object json.RawMessage
		}
		err := decoder.Decode(&event)
		var pod Pod
		if err == nil && event.Type != "ERROR" {
			err = json.Unmarshal(event.Object, &pod)
		} else if err == nil {
			err = errors.New(string(event.Object))
		}
		if err != nil {
			return fmt.Errorf("watch the pods of %s: %w", namespace, err)
		}
		tell(pod, event.Type == "DELETED")
	}
}
