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

// TestAThirdPartyHasFewConnections: twice as many posts as it grants connections take two of its answers, and
// who gives up waits no longer. When it is gone, that is no fault of the post.
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
			if err := client.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took < 2*Takes {
		t.Errorf("%d posts took %v, less than two answers", 2*Connections, took)
	}
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := client.Look(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who gives up gets %v", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	stop()
	service.Wait()
	var problem *rpc.Problem
	if err := client.Look(t.Context()); !errors.As(err, &problem) || problem.Kind != rpc.Unavailable {
		t.Errorf("without the third party a post gets %v", err)
	}
}

// TestWaitingForAConnectionEndsWithTheContext: the third party never hears of who gave up in the queue.
func TestWaitingForAConnectionEndsWithTheContext(t *testing.T) {
	arrived, release := make(chan struct{}, 2*Connections), make(chan struct{})
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
			if err := client.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for range Connections {
		<-arrived
	}
	hurried, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := client.Look(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who gives up gets %v", err)
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
