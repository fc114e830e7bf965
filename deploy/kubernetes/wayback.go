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

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// spansPort is where units send their spans.
	spansPort = 4318
	// wayMemory bounds the pod that passes them on.
	wayMemory = 64 << 20
	// wayAgain is the pause before a way is sought again that has failed.
	wayAgain = time.Second
	// wayOpen is the time after which a unit could have come on a way that has waited for one.
	wayOpen = 5 * time.Second
	// longestRefusal limits what is read of the pod's reason not to pass on, in bytes.
	longestRefusal = 512
)

// receiveSpans has the spans of a trial's units received, if any may record some. Pods cannot reach this
// host: they send to a pod of ours, to which this host connects.
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
	d.way = newWayBack(d.Watching, pod, func(ctx context.Context) (net.Conn, error) {
		return d.cluster.API.Forward(ctx, d.cluster.namespace, pod, starterPort)
	})
	state, err := d.makeWay(ctx, image)
	if err == nil {
		err = d.follow(pod, &d.way.log, make(chan struct{}))
	}
	if err != nil {
		return fmt.Errorf("start the pod to which units send their spans: %w", err)
	}
	go d.way.watch(d.pods)
	d.ReceiveSpans(d.way, net.JoinHostPort(state.Status.PodIP, strconv.Itoa(spansPort)))
	return nil
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := d.Fleet.Logs()
	if d.way != nil && d.way.log.String() != "" {
		logs[d.way.pod] = d.way.log.String()
	}
	return logs
}

// makeWay makes the pod, which goes with the trial, and waits until it runs.
func (d *deployment) makeWay(ctx context.Context, image string) (state api.Pod, err error) {
	const file = "key"
	c, name := d.cluster, d.way.pod
	var secret api.Secret
	secret.Metadata.Name, secret.Data = name, map[string][]byte{file: []byte(d.way.key)}
	if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
		return state, err
	}
	var made api.Pod
	made.Metadata.Name, made.Metadata.Labels = name, map[string]string{labelTrial: d.trial}
	made.Spec = api.PodSpec{RestartPolicy: "Never", TopologySpreadConstraints: []api.Spread{d.spread()},
		SecurityContext: restricted(), Volumes: []api.Volume{{Name: "files",
			Secret: &api.InSecret{Name: name, Mode: secretMode}}},
		Containers: []api.Container{{
			Name: "way", Image: image, ImagePullPolicy: "IfNotPresent",
			Command: []string{"/" + lab.StarterProgram, lab.StarterTunnel,
				net.JoinHostPort(anyAddress, strconv.Itoa(spansPort)),
				net.JoinHostPort(anyAddress, strconv.Itoa(starterPort))},
			Resources: resources(lab.Limits{Memory: wayMemory}),
			VolumeMounts: []api.Mount{{Name: "files", MountPath: lab.StarterKeyFile, SubPath: file,
				ReadOnly: true}},
			SecurityContext: api.SecurityContext{ReadOnlyRootFilesystem: true,
				Capabilities: api.Capabilities{Drop: []string{"ALL"}}},
		}}}
	if c.pulls {
		made.Spec.ImagePullSecrets = []api.Meta{{Name: pullSecret}}
	}
	if err := c.API.Do(ctx, http.MethodPost, c.ours("pods"), made, nil); err != nil {
		return state, c.advised(err)
	}
	if state, err = d.pods.await(ctx, name, started); err == nil {
		err = whyEnded(state, false)
	}
	return state, err
}

// whyEnded returns why no unit comes to a pod any more; nil: it has not ended.
func whyEnded(state api.Pod, gone bool) error {
	if how := ended(state); how != nil {
		return fmt.Errorf("its program ended: exit status %d (%s)", how.ExitCode, how.Reason)
	}
	if gone {
		return errors.New("somebody has removed its pod")
	}
	return nil
}

// endWay removes the pod. The units, which may send their last spans when they end, are gone.
func (d *deployment) endWay(ctx context.Context) error {
	if d.way == nil {
		return nil
	}
	d.way.settle() // what it waits for from now on does not come
	d.way.end()
	for _, kind := range []string{"pods", "secrets"} {
		if err := d.cluster.API.Delete(ctx, d.cluster.ours(kind, d.way.pod)+"?gracePeriodSeconds=0"); err != nil {
			return err
		}
	}
	return nil
}

// wayBack implements net.Listener: its connections are those of units, one after the other. To the pod that
// passes them on there is always one that waits.
type wayBack struct {
	pod     string
	forward func(context.Context) (net.Conn, error) // to the pod
	key     string
	log     fleet.Tail      // what the pod said, and what went wrong here
	open    context.Context // ends with the pod, and with Close
	end     context.CancelFunc
	once    sync.Once
	closed  chan struct{}

	mu    sync.Mutex
	waits time.Time // since when a connection waits for a unit; zero: none does
	could bool      // a unit has come, or could have
	wrong error     // the last failure; nil: since then a unit has come, or could have
}

func newWayBack(
	watching context.Context, pod string, forward func(context.Context) (net.Conn, error),
) *wayBack {
	w := &wayBack{pod: pod, forward: forward, key: rand.Text(), closed: make(chan struct{})}
	w.open, w.end = context.WithCancel(watching)
	return w
}

// Accept implements net.Listener. When the pod has ended, no more units come.
func (w *wayBack) Accept() (net.Conn, error) {
	for {
		select {
		case <-w.closed:
			return nil, net.ErrClosed
		default:
		}
		unit, err := w.next()
		w.note(err)
		if err == nil {
			return unit, nil
		}
		select {
		case <-w.closed:
		case <-time.After(wayAgain):
		}
	}
}

// note notes that a unit has come, or why none could while the pod was to be there.
func (w *wayBack) note(wrong error) {
	if w.open.Err() != nil {
		return
	}
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.could, w.wrong = w.could || wrong == nil, wrong
	if wrong != nil {
		_, _ = fmt.Fprintln(&w.log, wrong) // it takes everything
	}
}

// settle notes whether a unit could have come on the present connection, before this or the pod goes. Unless
// one has come before, only a connection that has stayed for a while shows that.
func (w *wayBack) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open.Err() == nil && !w.waits.IsZero() && (w.could || time.Since(w.waits) > wayOpen) {
		w.could, w.wrong = true, nil
	}
	w.waits = time.Time{}
}

// watch notes the end of the pod, after which no unit comes any more, unless the trial ends before.
func (w *wayBack) watch(pods *podCache) {
	_, err := pods.await(w.open, w.pod, func(state api.Pod, gone bool) (bool, error) {
		return false, whyEnded(state, gone)
	})
	w.note(fmt.Errorf("the pod to which units send their spans: %w", err))
	w.end()
}

// next waits for the next unit.
func (w *wayBack) next() (net.Conn, error) {
	way, err := w.forward(w.open)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(w.open, func() { _ = way.Close() })() // nobody has called
	var heard [1]byte
	if _, err = io.WriteString(way, w.key+"\n"+lab.StarterWaits+"\n"); err == nil {
		w.mu.Lock()
		w.waits = time.Now()
		w.mu.Unlock()
		_, err = io.ReadFull(way, heard[:])
	}
	if err == nil && string(heard[:]) != lab.StarterCalled { // it says what is wrong
		text, _ := io.ReadAll(io.LimitReader(way, longestRefusal))
		err = fmt.Errorf("it says: %s%s", heard[:], bytes.TrimSpace(text))
	}
	if err == nil {
		_, err = way.Write(heard[:])
	}
	if err != nil {
		_ = way.Close() // it has failed
		return nil, fmt.Errorf("wait at the pod to which units send their spans: %w", err)
	}
	return piped(way), nil
}

// piped returns a connection that leads to another. A read of it may be given up and begun again, as servers
// of HTTP do between two requests: what was half read of a message of the API server's would be lost.
func piped(way net.Conn) net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(way, far) // either side may end it
		_ = way.Close()
	}()
	go func() {
		_, _ = io.Copy(far, way)
		_ = far.Close()
	}()
	return near
}

// Close implements net.Listener. It fails if no unit could come at the end.
func (w *wayBack) Close() error {
	w.once.Do(func() { close(w.closed) })
	w.settle()
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.wrong == nil:
		return nil
	case w.could:
		return fmt.Errorf("at the end no span could come back from the cluster any more: %w", w.wrong)
	}
	return fmt.Errorf("no span could come back from the cluster: %w", w.wrong)
}

// Addr implements net.Listener.
func (w *wayBack) Addr() net.Addr { return &net.TCPAddr{} }
