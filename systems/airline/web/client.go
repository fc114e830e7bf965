package web

import (
	"bytes"
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

	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/kit/front"
)

const (
	// callTimeout limits the wait for the answer of another unit.
	callTimeout = 5 * time.Second
	// mostIdle is the number of connections to another unit that are kept for later calls.
	mostIdle = 256
	// maxAnswer is the longest answer of another unit, in bytes.
	maxAnswer = 1 << 20
)

// Client is a client of another unit.
type Client struct {
	base  string
	http  *http.Client
	guard *resilient.Guard // of all calls; nil: none
}

// NewClient returns a client of the unit at an address, host:port. Without a pool every call has a connection
// of its own. secured protects the connections; if it is nil, they are plain. guard guards the calls; it may
// be nil.
func NewClient(address string, pool bool, secured *tls.Config, guard *resilient.Guard) *Client {
	transport := &http.Transport{DisableKeepAlives: !pool, MaxIdleConns: mostIdle, MaxIdleConnsPerHost: mostIdle,
		IdleConnTimeout: time.Minute, TLSClientConfig: secured, TLSHandshakeTimeout: callTimeout}
	scheme := "http://"
	if secured != nil {
		scheme = "https://"
	}
	return &Client{scheme + address, &http.Client{Transport: transport, Timeout: callTimeout}, guard}
}

// Close implements io.Closer: it closes the connections that no call uses.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Session implements service.Sessions.
func (c *Client) Session(ctx context.Context, token string) (session airline.Session, err error) {
	if !service.IsID(token) {
		return session, rpc.Problemf(airline.NoSession, "log in first")
	}
	err = c.call(ctx, "GET "+Internal+"sessions/", url.PathEscape(token), nil, &session)
	return session, err
}

// Check implements service.Credentials.
func (c *Client) Check(ctx context.Context, login, password string) error {
	return c.call(ctx, "POST "+Internal+"check", "",
		map[string]string{"login": login, "password": password}, nil)
}

// Flight implements service.FlightFinder.
func (c *Client) Flight(ctx context.Context, id string) (flight airline.Flight, err error) {
	err = c.call(ctx, "GET "+Internal+"flights/", url.PathEscape(id), nil, &flight)
	return flight, err
}

// call makes a guarded call. The operation is a method and a path. id is the end of the path, which spans do
// not show.
func (c *Client) call(ctx context.Context, operation, id string, body, answer any) error {
	return c.guard.Do(ctx, operation, func(ctx context.Context) error {
		return c.attempt(ctx, operation, id, body, answer)
	})
}

// attempt sends a request and reads its answer. A refusal of the other unit is returned as it is.
func (c *Client) attempt(ctx context.Context, operation, id string, body, answer any) error {
	ctx, span := spans.Begin(ctx, operation, lab.SegmentTransport)
	defer span.End()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode a call to another unit: %w", err)
		}
		content = bytes.NewReader(text)
	}
	method, path, _ := strings.Cut(operation, " ")
	request, err := http.NewRequestWithContext(ctx, method, c.base+path+id, content)
	if err != nil {
		return fmt.Errorf("call another unit: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if trace := span.Traceparent(); trace != "" {
		request.Header.Set(spans.Header, trace)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return lost(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	text, err := bounded.ReadAll(response.Body, maxAnswer)
	var tooLong bounded.Error
	switch {
	case errors.As(err, &tooLong): // a repetition would not help
		return fmt.Errorf("read the answer of another unit: %w", err)
	case err != nil:
		return lost(ctx, err)
	case response.StatusCode >= http.StatusBadRequest:
		return refusal(response.StatusCode, text)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the answer of another unit: %w", err)
	}
	return nil
}

// lost returns the problem of a call without an answer. If the caller has gone, no unit has failed.
func lost(ctx context.Context, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &rpc.Problem{Kind: rpc.Cancelled, Detail: "the caller gave up", Cause: cause}
	}
	return &rpc.Problem{Kind: rpc.Unavailable, Detail: "another part of the airline does not answer",
		Cause: cause}
}

// refusal returns the problem that another unit answered with.
func refusal(status int, text []byte) error {
	var problem front.Document
	kind, is := "", false
	if err := json.Unmarshal(text, &problem); err == nil {
		kind, is = strings.CutPrefix(problem.Type, typePrefix)
	}
	if !is {
		return fmt.Errorf("another unit answered %d without a problem", status)
	}
	return rpc.Problemf(rpc.Kind(kind), "%s", problem.Detail)
}
