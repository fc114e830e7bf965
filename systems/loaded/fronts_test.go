package loaded

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// replica is a server that can be killed and started again at its address.
type replica struct {
	address string
	server  *http.Server
	took    atomic.Int64 // requests
}

// start serves in the background: it answers with the body of the request.
func (r *replica) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", r.address)
	testset.Must(t, err)
	r.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.took.Add(1)
		_, _ = io.Copy(w, q.Body) // the client checks it
	})}
	go func() { _ = r.server.Serve(listener) }() // until it is closed
}

// twoBehind starts two replicas of a unit and a front for them, and returns the URL of the front.
func twoBehind(t *testing.T, front lab.UnitSpec) (url string, replicas [2]*replica) {
	t.Helper()
	layout, err := lab.Variant{Replicas: map[string]int{"unit": 2}}.Scale(lab.Layout{Units: []lab.UnitSpec{front,
		{Name: "unit", Placement: lab.Placement{Scalable: true}}}})
	testset.Must(t, err)
	ports, err := launch.ReservePorts(2)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	endpoints := map[string]lab.Endpoint{}
	for n, unit := range []string{"unit", "unit-2"} {
		address := fmt.Sprintf("127.0.0.1:%d", ports.Numbers[n])
		replicas[n] = &replica{address: address}
		endpoints[unit] = lab.Endpoint{Bind: address, Dial: address}
		replicas[n].start(t)
		t.Cleanup(func() { _ = replicas[n].server.Close() })
	}
	return "http://" + startFront(t, layout.Units[0], endpoints), replicas
}

// TestAFrontPassesOverADeadReplica: while one of two replicas is dead, every call goes to the other,
// including calls that must not be repeated. Only calls that were in flight to the dead one may fail. When it
// is back it gets calls again.
func TestAFrontPassesOverADeadReplica(t *testing.T) {
	haproxy := append(ProxyDefaults(5), "frontend clients", ProxyBind, "  default_backend units",
		"backend units", ProxyServer("unit"))
	for name, front := range map[string]lab.UnitSpec{
		"nginx":   Nginx("front", 5, Route{Path: "/", To: []string{"unit"}}),
		"haproxy": Proxy("front", haproxy, []string{"unit"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, replicas := twoBehind(t, front)
			var clients sync.WaitGroup
			var known atomic.Bool        // to the front: the replica is dead
			var early, late atomic.Int64 // failed calls that began before known, and after
			for range 8 {
				clients.Go(func() {
					for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
						failed := &early
						if known.Load() {
							failed = &late
						}
						if !post(url) {
							failed.Add(1)
						}
					}
				})
			}
			time.Sleep(300 * time.Millisecond)
			_ = replicas[1].server.Close()
			// The front may still send calls on idle connections until it has noticed that they are closed.
			time.Sleep(50 * time.Millisecond)
			known.Store(true)
			clients.Wait()
			before := replicas[1].took.Load()
			// Each of the 8 clients may lose the call in flight, and one on an idle connection.
			if late.Load() > 0 || early.Load() > 16 || before == 0 {
				t.Errorf("%d calls failed that were begun while a replica was dead, %d before the front had heard of "+
					"it, of %d", late.Load(), early.Load(), before)
			}
			replicas[1].start(t)
			for end := time.Now().Add(10 * time.Second); replicas[1].took.Load() == before; {
				if !post(url) || time.Now().After(end) {
					t.Fatal("a call fails with both alive, or the replica that is back gets none")
				}
			}
		})
	}
}

// post sends a call that must not be repeated and reports whether the answer has its body.
func post(url string) bool {
	answer, err := http.Post(url, "text/plain", strings.NewReader("once"))
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK && string(body) == "once"
}
