package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// echo returns the address of a unit that sends back all data, and closes after its peer.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		// It goes on after an accept fails because no descriptor is left, until the listener is closed.
		_ = accept.Each(listener, func(connection net.Conn) {
			go func() {
				_, _ = io.Copy(connection, connection) // the peer may reset the connection
				_ = connection.Close()
			}()
		})
	}()
	return listener.Addr().String()
}

// front returns a relay to a target. The relay is closed at the end of the test.
func front(t *testing.T, target string) *Relay {
	t.Helper()
	r, err := Listen("127.0.0.1", "stock", target)
	testset.Must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// exchange connects, sends all, ends its side, and returns the whole answer and how long all of this took.
func exchange(t *testing.T, address string, all []byte) (answer []byte, took time.Duration) {
	t.Helper()
	began := time.Now()
	connection, err := net.Dial("tcp", address)
	testset.Must(t, err)
	defer func() { _ = connection.Close() }()
	testset.Must(t, connection.SetDeadline(began.Add(time.Minute)))
	go func() {
		_, _ = connection.Write(all)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	answer, err = io.ReadAll(connection)
	testset.Must(t, err)
	return answer, time.Since(began)
}

func TestWhatIsSentComesOutAtTheOtherEnd(t *testing.T) {
	r := front(t, echo(t))
	sent := make([]byte, 3<<20) // more than all buffers hold
	_, _ = rand.Read(sent)
	if answer, _ := exchange(t, r.Address(), sent); !bytes.Equal(answer, sent) {
		t.Errorf("%d bytes came back of %d, or others", len(answer), len(sent))
	}
}

// TestNoDescriptorIsLeft calls a relay that cannot accept the connection, because no descriptor is left. It
// must still serve the next one.
func TestNoDescriptorIsLeft(t *testing.T) {
	r := front(t, echo(t))
	testset.CallWithoutDescriptors(t, r.Address())
	if answer, _ := exchange(t, r.Address(), []byte("hello")); string(answer) != "hello" {
		t.Errorf("it answers %q", answer)
	}
}

func TestSlowed(t *testing.T) {
	r := front(t, echo(t))
	for name, c := range map[string]struct {
		fault lab.Fault
		bytes int
		least time.Duration
	}{
		"a delay": {lab.Fault{Delay: 0.2}, 1, 400 * time.Millisecond}, // for the connection and for the byte
		"a rate":  {lab.Fault{Rate: 100 << 10}, 50 << 10, 500 * time.Millisecond},
		"both":    {lab.Fault{Delay: 0.2, Rate: 100 << 10}, 20 << 10, 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			proof, err := r.Slow(t.Context(), c.fault)
			if err != nil || !strings.Contains(proof, "through its relay") {
				t.Fatalf("%q, %v", proof, err)
			}
			sent := bytes.Repeat([]byte("x"), c.bytes)
			if answer, took := exchange(t, r.Address(), sent); len(answer) != len(sent) || took < c.least {
				t.Errorf("%d bytes took %v, want %v or more", len(answer), took, c.least)
			}
			r.Heal()
			if _, took := exchange(t, r.Address(), sent); took >= c.least {
				t.Errorf("healed, they took %v", took)
			}
		})
	}
}

func TestAUnitThatIsGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	r := front(t, listener.Addr().String())
	_ = listener.Close()
	if answer, _ := exchange(t, r.Address(), nil); len(answer) > 0 {
		t.Errorf("somebody answers %q", answer)
	}
}

// TestAProofThatDoesNotCome: Slow fails if its probe does not pass before the deadline of the context.
func TestAProofThatDoesNotCome(t *testing.T) {
	r := front(t, echo(t))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if proof, err := r.Slow(ctx, lab.Fault{Delay: 3600}); err == nil {
		t.Errorf("an hour's delay was proved in no time: %q", proof)
	}
}

// inBubble returns a relay for a bubble of synctest: it has no listener, which would hold up the fake clock.
func inBubble(t *testing.T) *Relay {
	t.Helper()
	r := &Relay{unit: "stock"}
	r.ended, r.end = context.WithCancel(t.Context())
	t.Cleanup(func() {
		r.end()
		r.passing.Wait()
	})
	return r
}

func TestSlowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := inBubble(t).Slow(ctx, lab.Fault{Delay: 3600})
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took > time.Second {
			t.Errorf("%v after %v, want context.Canceled after 1s", err, took)
		}
	})
}

// TestLongDelaysAreProved: a delay or a rate may make the probe take more than a minute.
func TestLongDelaysAreProved(t *testing.T) {
	for name, fault := range map[string]lab.Fault{"a delay": {Delay: 120}, "a rate": {Rate: 0.01}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if proof, err := inBubble(t).Slow(t.Context(), fault); err != nil {
					t.Errorf("%q, %v", proof, err)
				}
			})
		})
	}
}

// TestAWaitThatNoDurationHolds checks that bytes at a rate at which they would take millennia do not pass at
// once.
func TestAWaitThatNoDurationHolds(t *testing.T) {
	r := front(t, "127.0.0.1:1")
	r.set(0, 1e-9)
	if left := time.Until(r.due(pieceBytes, toUnit)); left < 24*time.Hour {
		t.Errorf("they pass after %v", left)
	}
}

func TestCloseDoesNotWaitForWhatIsSlow(t *testing.T) {
	r, err := Listen("127.0.0.1", "stock", echo(t))
	testset.Must(t, err)
	connection, err := net.Dial("tcp", r.Address())
	testset.Must(t, err)
	defer func() { _ = connection.Close() }()
	r.set(time.Hour, 0)
	_, _ = connection.Write([]byte("x"))
	ended := make(chan error, 1)
	go func() { ended <- r.Close() }()
	select {
	case err := <-ended:
		testset.Must(t, err)
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

// TestCloseDoesNotWaitForAUnitThatAcceptsNobody: its queue is full, so the kernel answers no caller.
func TestCloseDoesNotWaitForAUnitThatAcceptsNobody(t *testing.T) {
	unit, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	testset.Must(t, err)
	t.Cleanup(func() { _ = syscall.Close(unit) })
	testset.Must(t, syscall.Bind(unit, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	testset.Must(t, syscall.Listen(unit, 0))
	at, err := syscall.Getsockname(unit)
	testset.Must(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*syscall.SockaddrInet4).Port))
	for err == nil { // until it is full
		var waits net.Conn
		if waits, err = net.DialTimeout("tcp", address, 100*time.Millisecond); err == nil {
			t.Cleanup(func() { _ = waits.Close() })
		}
	}
	r, err := Listen("127.0.0.1", "stock", address)
	testset.Must(t, err)
	time.AfterFunc(50*time.Millisecond, func() { _ = r.Close() })
	began := time.Now()
	if _, err := r.dial(); err == nil || time.Since(began) > dialTimeout/2 {
		t.Errorf("%v after %v, want an error when the relay is closed", err, time.Since(began))
	}
}

// slowedUnits returns two units, of which stock is to be slowed.
func slowedUnits() []lab.UnitSpec {
	return []lab.UnitSpec{{Name: "stock", Lifecycle: lab.Lifecycle{Faults: []lab.FaultKind{lab.FaultSlow}}},
		{Name: "front"}}
}

// TestOnlyWhoListensCanBeSlowed: InFront puts a relay in front of the unit that is to be slowed and of no
// other, and refuses if that unit does not listen. UnitAddress returns the addresses behind the relays.
func TestOnlyWhoListensCanBeSlowed(t *testing.T) {
	if _, err := InFront(slowedUnits(), map[string]lab.Endpoint{}, "127.0.0.1"); err == nil ||
		!strings.Contains(err.Error(), "does not listen") {
		t.Errorf("%v, want it to say that stock does not listen", err)
	}
	endpoints := map[string]lab.Endpoint{"stock": {Bind: "198.18.0.1:80", Dial: "198.18.0.1:80"},
		"front": {Dial: "198.18.0.2:80"}}
	relays, err := InFront(slowedUnits(), endpoints, "127.0.0.1")
	testset.Must(t, err)
	if behind := relays.UnitAddress("stock", endpoints["stock"].Dial); behind != "198.18.0.1:80" {
		t.Errorf("behind its relay stock is at %q", behind)
	}
	if behind := relays.UnitAddress("front", "198.18.0.2:80"); behind != "198.18.0.2:80" {
		t.Errorf("front, which has no relay, is at %q", behind)
	}
	if endpoints["stock"].Bind != "198.18.0.1:80" || endpoints["stock"].Dial != relays["stock"].Address() ||
		endpoints["front"].Dial != "198.18.0.2:80" {
		t.Errorf("the endpoints are %v", endpoints)
	}
	testset.Must(t, relays.Close())
}

// TestAUnitThatMoves: a connection waits while nobody listens at the target, and goes to the new target once
// SetTarget has set it.
func TestAUnitThatMoves(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the former address
	testset.Must(t, err)
	before := listener.Addr().String()
	now := echo(t)
	_ = listener.Close()
	r := front(t, before)
	time.AfterFunc(200*time.Millisecond, func() { r.SetTarget(now) })
	if answer, _ := exchange(t, r.Address(), []byte("flour")); string(answer) != "flour" {
		t.Errorf("%q came back", answer)
	}
}
