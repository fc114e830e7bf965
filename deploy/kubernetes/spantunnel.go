package kubernetes

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// spansPort is the port of the tunnel pod to which units send their spans.
	spansPort = 4318
	// tunnelContainer is the name of the container of the tunnel pod.
	tunnelContainer = "tunnel"
	// tunnelMemory limits the memory of the tunnel pod, in bytes.
	tunnelMemory = 64 << 20
	// tunnelRetry is the pause before the next attempt to connect to the tunnel pod.
	tunnelRetry = time.Second
	// longestRefusal limits the error message that is read from the tunnel pod, in bytes.
	longestRefusal = 512
)

// receiveSpans receives the spans of a trial's units, if any of them may record some. Pods cannot reach this
// host: they send to a tunnel pod of ours, to which this host connects.
func (d *deployment) receiveSpans(ctx context.Context, specs []lab.UnitSpec) error {
	if !d.AwaitsSpans(specs) {
		return nil
	}
	image, err := d.deployer.images.Bare(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cluster.patience, fmt.Errorf("not up after %v",
		d.cluster.patience))
	defer cancel()
	pod := d.trial + "-spans"
	d.tunnel = newSpanTunnel(d.Watching, pod, func(ctx context.Context) (net.Conn, error) {
		return d.cluster.API.Forward(ctx, d.cluster.namespace, pod, containers.StarterPort)
	})
	state, err := d.makeTunnelPod(ctx, image)
	if err == nil {
		err = d.follow(pod, tunnelContainer, &d.tunnel.log, make(chan struct{}))
	}
	if err != nil {
		return fmt.Errorf("start the pod to which units send their spans: %w", err)
	}
	go d.tunnel.watch(d.pods)
	d.ReceiveSpans(d.tunnel, net.JoinHostPort(state.Status.PodIP, strconv.Itoa(spansPort)))
	return nil
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := d.Fleet.Logs()
	if d.tunnel != nil && d.tunnel.log.String() != "" {
		logs[d.tunnel.pod] = d.tunnel.log.String()
	}
	return logs
}

// makeTunnelPod makes the tunnel pod, with its key in a secret, and waits until it runs.
func (d *deployment) makeTunnelPod(ctx context.Context, image string) (state api.Pod, err error) {
	const file = "key"
	c, name := d.cluster, d.tunnel.pod
	var secret api.Secret
	secret.Metadata.Name = name
	secret.Data = map[string][]byte{file: []byte(d.tunnel.key)}
	if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
		return state, err
	}
	var made api.Pod
	made.Metadata.Name = name
	made.Metadata.Labels = map[string]string{labelTrial: d.trial}
	made.Spec = api.PodSpec{RestartPolicy: "Never", TopologySpreadConstraints: []api.Spread{d.spread()},
		SecurityContext: restricted(), Volumes: []api.Volume{{Name: "files",
			Secret: &api.InSecret{Name: name, Mode: secretMode}}},
		Containers: []api.Container{{
			Name: tunnelContainer, Image: image, ImagePullPolicy: "IfNotPresent",
			Command: []string{"/" + lab.StarterProgram, lab.StarterTunnel,
				containers.AnyAddress(spansPort), containers.AnyAddress(containers.StarterPort)},
			Resources: resources(lab.Limits{Memory: tunnelMemory}),
			VolumeMounts: []api.Mount{{Name: "files", MountPath: lab.StarterKeyFile, SubPath: file,
				ReadOnly: true}},
			SecurityContext: api.SecurityContext{ReadOnlyRootFilesystem: true,
				Capabilities: api.Capabilities{Drop: []string{"ALL"}}},
		}}}
	if c.logsIn {
		made.Spec.ImagePullSecrets = []api.Meta{{Name: pullSecret}}
	}
	if err := c.API.Do(ctx, http.MethodPost, c.ours("pods"), made, nil); err != nil {
		return state, c.advised(err)
	}
	if state, err = d.pods.awaitPod(ctx, name, started); err == nil {
		err = whyEnded(state, false)
	}
	return state, err
}

// whyEnded returns an error that says how a pod has ended, or nil if it has not.
func whyEnded(state api.Pod, gone bool) error {
	if how := ended(state); how != nil {
		return fmt.Errorf("its program ended: exit status %d (%s)", how.ExitCode, how.Reason)
	}
	if gone {
		return errors.New("somebody has removed its pod")
	}
	return nil
}

// endTunnel removes the tunnel pod and its secret. It is called after the units have ended, as they may send
// their last spans then.
func (d *deployment) endTunnel(ctx context.Context) error {
	if d.tunnel == nil {
		return nil
	}
	d.tunnel.end() // what happens to the connection from now on is no failure
	for _, kind := range []string{"pods", "secrets"} {
		path := d.cluster.ours(kind, d.tunnel.pod) + "?gracePeriodSeconds=0"
		if err := d.cluster.API.Delete(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// spanTunnel implements net.Listener: it accepts the connections that units make to the tunnel pod. One
// connection of this host to the pod always waits for the next unit.
type spanTunnel struct {
	pod     string                                  // name of the tunnel pod
	forward func(context.Context) (net.Conn, error) // connects to the pod
	key     string                                  // proves to the pod who its conductor is
	log     fleet.Tail                              // the pod's log, and our failures
	open    context.Context                         // ends with the pod, and with Close
	end     context.CancelFunc                      // ends open
	once    sync.Once
	closed  chan struct{}

	mu      sync.Mutex
	worked  bool  // the pod has held a connection for units
	failure error // the last failure; nil: none, or the tunnel has worked since
}

// newSpanTunnel returns a tunnel to a pod, which ends with the context at the latest.
func newSpanTunnel(
	watching context.Context, pod string, forward func(context.Context) (net.Conn, error),
) *spanTunnel {
	t := &spanTunnel{pod: pod, forward: forward, key: rand.Text(), closed: make(chan struct{})}
	t.open, t.end = context.WithCancel(watching)
	return t
}

// Accept implements net.Listener. It tries again after failures, until Close.
func (t *spanTunnel) Accept() (net.Conn, error) {
	for {
		select {
		case <-t.closed:
			return nil, net.ErrClosed
		default:
		}
		unit, err := t.next()
		t.record(err)
		if err == nil {
			return unit, nil
		}
		select {
		case <-t.closed:
		case <-time.After(tunnelRetry):
		}
	}
}

// record records that units can connect, or the failure because of which none could. After the end of the
// tunnel it records nothing.
func (t *spanTunnel) record(failure error) {
	if t.open.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worked = t.worked || failure == nil
	t.failure = failure
	if failure != nil {
		_, _ = fmt.Fprintln(&t.log, failure) // it takes everything
	}
}

// watch waits for the end of the pod and records it, unless the tunnel is ended before.
func (t *spanTunnel) watch(pods *podCache) {
	_, err := pods.awaitPod(t.open, t.pod, func(state api.Pod, gone bool) (bool, error) {
		return false, whyEnded(state, gone)
	})
	t.record(fmt.Errorf("the pod to which units send their spans: %w", err))
	t.end()
}

// next connects to the pod, which holds the connection (lab.StarterHeld), and waits for the next unit
// (lab.StarterCalled), which this host confirms.
func (t *spanTunnel) next() (net.Conn, error) {
	connection, err := t.forward(t.open)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(t.open, func() { _ = connection.Close() })() // ends the wait below
	if _, err = io.WriteString(connection, t.key+"\n"+lab.StarterWaits+"\n"); err == nil {
		err = expect(connection, lab.StarterHeld)
	}
	if err == nil {
		t.record(nil)
		err = expect(connection, lab.StarterCalled)
	}
	if err == nil {
		_, err = io.WriteString(connection, lab.StarterCalled)
	}
	if err != nil {
		_ = connection.Close() // it has failed
		return nil, fmt.Errorf("wait at the pod to which units send their spans: %w", err)
	}
	return piped(connection), nil
}

// expect reads a byte, and returns an error if it is another one: then it begins an error message.
func expect(connection io.Reader, wanted string) error {
	answer := make([]byte, len(wanted))
	if _, err := io.ReadFull(connection, answer); err != nil || string(answer) == wanted {
		return err
	}
	text, _ := io.ReadAll(io.LimitReader(connection, longestRefusal))
	return fmt.Errorf("it says: %s%s", answer, bytes.TrimSpace(text))
}

// piped returns a connection that forwards to another one, and whose reads may be interrupted and repeated.
// HTTP servers do so between two requests; in a forwarded connection, the part of a message that was read
// would be lost.
func piped(to net.Conn) net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(to, far) // either side may end it
		_ = to.Close()
	}()
	go func() {
		_, _ = io.Copy(far, to)
		_ = far.Close()
	}()
	return near
}

// Close implements net.Listener. It returns the last failure if no unit could connect at the end.
func (t *spanTunnel) Close() error {
	t.once.Do(func() { close(t.closed) })
	t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failure == nil:
		return nil
	case t.worked:
		return fmt.Errorf("at the end no span could come back from the cluster any more: %w", t.failure)
	}
	return fmt.Errorf("no span could come back from the cluster: %w", t.failure)
}

// Addr implements net.Listener.
func (t *spanTunnel) Addr() net.Addr { return &net.TCPAddr{} }
