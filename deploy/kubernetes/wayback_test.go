package kubernetes

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// podSaying returns the address of a pod that says something to who calls, until the test ends.
func podSaying(t *testing.T, text string) string {
	t.Helper()
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	deploytest.Must(t, err)
	t.Cleanup(func() { _ = pod.Close() })
	go func() {
		for {
			caller, err := pod.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(caller, text)
			_ = caller.(*net.TCPConn).CloseWrite()
		}
	}()
	return pod.Addr().String()
}

// TestWhyNoSpanCouldComeBackIsSaid in the log and in the end, unless a unit has come since.
func TestWhyNoSpanCouldComeBackIsSaid(t *testing.T) {
	wayTo := func(at string) *wayBack {
		return newWayBack(t.Context(), "pod", func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at)
		})
	}
	for text, says := range map[string]string{"": "send their spans: EOF", "wrong key\n": "it says: wrong key"} {
		way := wayTo(podSaying(t, text))
		said := way.log.Expect(says)
		go func() { _, _ = way.Accept() }() // until it is closed
		select {
		case <-said:
		case <-time.After(time.Minute):
			t.Errorf("the log says %q, want %q", &way.log, says)
		}
		deploytest.Says(t, way.Close(), says)
	}
	way := wayTo(podSaying(t, lab.StarterCalled))
	way.note(errors.New("not yet"))
	if _, err := way.Accept(); err != nil {
		t.Error(err)
	}
	if err := way.Close(); err != nil {
		t.Errorf("after a unit has come it ends with %v", err)
	}
}

// TestWhyNoMoreSpansCouldComeBackIsSaid after a unit has come: the pod has ended, or the way has failed
// since.
func TestWhyNoMoreSpansCouldComeBackIsSaid(t *testing.T) {
	wayThatWorked := func() *wayBack {
		way := newWayBack(t.Context(), "pod", nil)
		way.note(nil)
		return way
	}
	state := api.Pod{}
	state.Metadata.Name = "pod"
	for says, tell := range map[string]func(pods *podCache){
		"somebody has removed its pod": func(pods *podCache) { pods.update(state, true) },
		"its program ended: exit status 137 (OOMKilled)": func(pods *podCache) {
			over := state
			over.Status.ContainerStatuses = []api.ContainerStatus{{State: api.ContainerState{
				Terminated: &api.Terminated{ExitCode: 137, Reason: "OOMKilled"}}}}
			pods.update(over, false)
		},
	} {
		way, pods := wayThatWorked(), newPodCache()
		pods.update(state, false)
		said, watched := way.log.Expect(says), make(chan struct{})
		go func() {
			defer close(watched)
			way.watch(pods)
		}()
		tell(pods)
		<-watched
		select {
		case <-said:
		default:
			t.Errorf("the log says %q, want %q", &way.log, says)
		}
		err := way.Close()
		if err == nil || !strings.Contains(err.Error(), "any more") || !strings.Contains(err.Error(), says) {
			t.Errorf("it ends with %v, want %q", err, says)
		}
	}
	way, pods := wayThatWorked(), newPodCache()
	way.settle()
	way.end() // as the trial does, before it removes the pod
	pods.update(state, true)
	way.watch(pods)
	if err := way.Close(); err != nil {
		t.Errorf("a trial that has removed its pod ends with %v", err)
	}
	way = wayThatWorked()
	way.note(errors.New("reset"))
	way.waits = time.Now().Add(-2 * wayOpen)
	way.note(errors.New("reset again"))
	if err := way.Close(); err == nil || !strings.Contains(err.Error(), "any more: reset again") {
		t.Errorf("a way that has failed since ends with %v", err)
	}
	for waited, way := range map[time.Duration]*wayBack{0: wayThatWorked(),
		2 * wayOpen: newWayBack(t.Context(), "pod", nil)} {
		way.note(errors.New("reset"))
		way.waits = time.Now().Add(-waited)
		if err := way.Close(); err != nil {
			t.Errorf("a way on which units could come at the end, for %v, ends with %v", waited, err)
		}
	}
}
