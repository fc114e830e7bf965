// Package thirdparty stands in for another company's service that checks media before they are shown, and
// holds the client for it. It is a bottleneck that waits: its callers are slow without using a processor, and
// can do more only with more connections, so with more replicas.
//
// Entry points: Service, NewClient.
package thirdparty

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// Name is the name of its unit, and the role of its usage, which is not part of the system's cost.
	Name = "third-party"
	// Connections is the number of connections of each client.
	Connections = 4
	// CheckTime is the duration of the check of a post.
	CheckTime = 100 * time.Millisecond
	// path is the resource that checks the media of a post. The stand-in does not read them.
	path = "/looks"
	// drain is the time that requests in flight have to finish when the service ends.
	drain = 10 * time.Second
)

// Service is the stand-in for the third party.
type Service struct{}

// Serve answers every request after CheckTime, until ctx ends.
func (Service) Serve(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(CheckTime):
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done(): // the caller has given up
		}
	})
	return unit.ServeFront(ctx, listener, mux, drain)
}

// Report implements hosting.Served. The report is empty.
func (Service) Report(channel *unit.Channel) error { return channel.Report(struct{}{}) }

// Close implements hosting.Served.
func (Service) Close() error { return nil }

// Client calls the service over HTTP, on up to Connections connections.
type Client struct {
	http *http.Client
	url  string
}

// NewClient returns a client of the service at a host:port.
func NewClient(address string) *Client {
	return &Client{&http.Client{Transport: &http.Transport{MaxConnsPerHost: Connections,
		MaxIdleConnsPerHost: Connections}}, "http://" + address + path}
}

// Approve has the media of a post checked. It waits for a connection and for the answer; Unavailable if the
// third party does not approve.
func (c *Client) Approve(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, http.NoBody)
	if err != nil {
		return err
	}
	_, span := spans.Begin(ctx, "third-party/Approve", lab.SegmentTransport)
	answer, err := c.http.Do(request)
	span.End()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if err != nil || answer.StatusCode != http.StatusNoContent {
		err = rpc.Problemf(rpc.Unavailable, "the third party does not say whether the media may be shown")
	}
	if answer != nil {
		_ = answer.Body.Close() // it is empty
	}
	return err
}

// Close ends the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
