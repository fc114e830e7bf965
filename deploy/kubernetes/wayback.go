package kubernetes

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// spansPort is where units send their spans.
	spansPort = 4318
	// wayMemory bounds the pod that passes them on.
	wayMemory = 64 << 20
	// wayAgain is when a way is sought again that has failed.
	wayAgain = time.Second
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
	name, key := d.trial+"-spans", rand.Text()
	state, err := d.makeWay(ctx, name, image, key)
	if err != nil {
		return fmt.Errorf("start the pod to which units send their spans: %w", err)
	}
	way := &wayBack{closed: make(chan struct{}), key: key,
		forward: func(ctx context.Context) (net.Conn, error) {
			return d.cluster.API.Forward(ctx, d.cluster.namespace, name, starterPort)
		}}
	way.open, way.end = context.WithCancel(d.Watching)
	d.ReceiveSpans(way, net.JoinHostPort(state.Status.PodIP, strconv.Itoa(spansPort)))
	return nil
}

// makeWay makes the pod, which goes with the trial, and waits until it runs.
func (d *deployment) makeWay(ctx context.Context, name, image, key string) (state api.Pod, err error) {
	const file = "key"
	c := d.cluster
	var secret api.Secret
	secret.Metadata.Name, secret.Data = name, map[string][]byte{file: []byte(key)}
	if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
		return state, err
	}
	d.way = name
	var made api.Pod
	made.Metadata.Name, made.Metadata.Labels = name, map[string]string{labelTrial: d.trial}
	made.Spec = api.PodSpec{RestartPolicy: "Never", TopologySpreadConstraints: []api.Spread{d.spread()},
		SecurityContext: restricted(), Volumes: []api.Volume{{Name: "files",
			Secret: &api.InSecret{Name: name, Mode: secretMode}}},
		Containers: []api.Container{{
			Name: "way", Image: image, ImagePullPolicy: "IfNotPresent",
			Command: []string{"/" + lab.StarterProgram, lab.StarterWay,
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
	state, err = d.told.await(ctx, name, started)
	if how := ended(state); err == nil && how != nil {
		err = fmt.Errorf("its program ended: exit status %d", how.ExitCode)
	}
	return state, err
}

// endWay removes the pod. The units, which may send their last spans when they end, are gone.
func (d *deployment) endWay(ctx context.Context) error {
	if d.way == "" {
		return nil
	}
	for _, kind := range []string{"pods", "secrets"} {
		path := d.cluster.ours(kind, d.way) + "?gracePeriodSeconds=0"
		err := d.cluster.API.Do(ctx, http.MethodDelete, path, nil, nil)
		if err != nil && !api.NotFound(err) {
			return err
		}
	}
	return nil
}

// wayBack implements net.Listener: its connections are those of units, one after the other. To the pod that
// passes them on there is always one that waits.
type wayBack struct {
	forward func(context.Context) (net.Conn, error)
	key     string
	open    context.Context // ends with the deployment, and with Close
	end     context.CancelFunc
	once    sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener. When the deployment has ended, no more units come.
func (w *wayBack) Accept() (net.Conn, error) {
	for {
		select {
		case <-w.closed:
			return nil, net.ErrClosed
		default:
		}
		if unit, err := w.next(); err == nil {
			return unit, nil
		}
		select {
		case <-w.closed:
		case <-time.After(wayAgain):
		}
	}
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
		if _, err = io.ReadFull(way, heard[:]); err == nil {
			_, err = way.Write(heard[:])
		}
	}
	if err != nil {
		_ = way.Close() // it has failed
		return nil, err
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

// Close implements net.Listener.
func (w *wayBack) Close() error {
	w.once.Do(func() { close(w.closed) })
	w.end()
	return nil
}

// Addr implements net.Listener.
func (w *wayBack) Addr() net.Addr { return &net.TCPAddr{} }
