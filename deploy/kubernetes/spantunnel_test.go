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
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// podSaying returns the address of a listener that sends a text to every caller, as the tunnel pod would.
func podSaying(t *testing.T, text string) string {
	t.Helper()
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
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

// TestWhyNoSpanCouldComeBackIsSaid checks that a failure of the tunnel is in its log and in the error of
// Close, unless a unit could connect since.
func TestWhyNoSpanCouldComeBackIsSaid(t *testing.T) {
	tunnelTo := func(at string) *spanTunnel {
		return newSpanTunnel(t.Context(), "pod", func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at)
		})
	}
	for text, says := range map[string]string{"": "send their spans: EOF", "wrong key\n": "it says: wrong key"} {
		tunnel := tunnelTo(podSaying(t, text))
		said := tunnel.log.Expect(says)
		go func() { _, _ = tunnel.Accept() }() // until it is closed
		select {
		case <-said:
		case <-time.After(time.Minute):
			t.Errorf("the log says %q, want %q", &tunnel.log, says)
		}
		deploytest.Says(t, tunnel.Close(), says)
	}
	tunnel := tunnelTo(podSaying(t, lab.StarterHeld+lab.StarterCalled))
	tunnel.record(errors.New("not yet"))
	if _, err := tunnel.Accept(); err != nil {
		t.Error(err)
	}
	if err := tunnel.Close(); err != nil {
		t.Errorf("after a unit has come it ends with %v", err)
	}
	// This pod holds a connection, to which no unit comes.
	tunnel = tunnelTo(podSaying(t, lab.StarterHeld))
	tunnel.record(errors.New("not yet"))
	held := tunnel.log.Expect("send their spans: EOF")
	go func() { _, _ = tunnel.Accept() }()
	<-held
	deploytest.Says(t, tunnel.Close(), "could come back from the cluster any more", "EOF")
}

// TestWhyNoMoreSpansCouldComeBackIsSaid checks the error of Close after a unit has connected: whether the pod
// has ended or the tunnel has failed since. A trial that removes the pod itself, and a connection on which
// units could have connected, are no failures.
func TestWhyNoMoreSpansCouldComeBackIsSaid(t *testing.T) {
	workingTunnel := func() *spanTunnel {
		tunnel := newSpanTunnel(t.Context(), "pod", nil)
		tunnel.record(nil)
		return tunnel
	}
	state := api.Pod{}
	state.Metadata.Name = "pod"
	for says, tell := range map[string]func(pods *podCache){
		"somebody has removed its pod": func(pods *podCache) { pods.store(state, true) },
		"its program ended: exit status 137 (OOMKilled)": func(pods *podCache) {
			over := state
			over.Status.ContainerStatuses = []api.ContainerStatus{{State: api.ContainerState{
				Terminated: &api.Terminated{ExitCode: 137, Reason: "OOMKilled"}}}}
			pods.store(over, false)
		},
	} {
		tunnel := workingTunnel()
		pods := newPodCache()
		pods.store(state, false)
		said := tunnel.log.Expect(says)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			tunnel.watch(pods)
		}()
		tell(pods)
		<-watched
		select {
		case <-said:
		default:
			t.Errorf("the log says %q, want %q", &tunnel.log, says)
		}
		err := tunnel.Close()
		if err == nil || !strings.Contains(err.Error(), "any more") || !strings.Contains(err.Error(), says) {
			t.Errorf("it ends with %v, want %q", err, says)
		}
	}
	tunnel := workingTunnel()
	pods := newPodCache()
	tunnel.end() // as the trial does, before it removes the pod
	pods.store(state, true)
	tunnel.watch(pods)
	if err := tunnel.Close(); err != nil {
		t.Errorf("a trial that has removed its pod ends with %v", err)
	}
	tunnel = workingTunnel()
	tunnel.record(errors.New("reset"))
	tunnel.record(nil) // the pod holds a connection again
	if err := tunnel.Close(); err != nil {
		t.Errorf("a tunnel to which units could connect at the end ends with %v", err)
	}
}
