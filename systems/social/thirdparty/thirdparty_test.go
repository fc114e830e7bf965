package thirdparty

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestAThirdPartyHasFewConnections: with twice as many concurrent posts as connections, half of the posts
// wait for the others. A cancelled call returns at once, and a third party that is gone makes a post
// Unavailable, not invalid.
func TestAThirdPartyHasFewConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var all, service sync.WaitGroup
	service.Go(func() {
		if err := (Service{}).Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	client := NewClient(listener.Addr().String())
	begun := time.Now()
	for range 2 * Connections {
		all.Go(func() {
			if err := client.Approve(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took < 2*CheckTime {
		t.Errorf("%d posts took %v, less than two checks one after the other", 2*Connections, took)
	}
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := client.Approve(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled call gets %v", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	stop()
	service.Wait()
	var problem *rpc.Problem
	if err := client.Approve(t.Context()); !errors.As(err, &problem) || problem.Kind != rpc.Unavailable {
		t.Errorf("without the third party a post gets %v", err)
	}
}

// TestWaitingForAConnectionEndsWithTheContext: a call that is cancelled while it waits for a connection sends
// no request.
func TestWaitingForAConnectionEndsWithTheContext(t *testing.T) {
	arrived := make(chan struct{}, 2*Connections)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	client := NewClient(strings.TrimPrefix(server.URL, "http://"))
	var all sync.WaitGroup
	for range Connections {
		all.Go(func() {
			if err := client.Approve(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for range Connections {
		<-arrived
	}
	hurried, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := client.Approve(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled call gets %v", err)
	}
	if len(arrived) > 0 {
		t.Errorf("more than %d requests are open", Connections)
	}
	close(release)
	all.Wait()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
