package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// burstSpan is the size of a limited link's burst, as the time that its bytes take at the rate. leastBurst
	// is its lower bound in bytes, so that whole frames pass.
	burstSpan, leastBurst = 5 * time.Millisecond, 4096
	// queueSpan is the longest time that frames wait in the queue of a limited link; others are dropped.
	queueSpan = 50 * time.Millisecond
	// probeSpan is the expected time of a probe in each direction, and probePatience limits it.
	probeSpan, probePatience = 200 * time.Millisecond, 10 * time.Second
	// leastHeld is the share of its rate that a link has to pass. A probe may take another probeSpan to begin on
	// a busy host.
	leastHeld = 0.5
	// pieceBytes is the size of the writes of a probe.
	pieceBytes = 64 << 10
)

// Link disconnects the host from the network, or connects it again. It changes the switch's end of the link,
// so that the host keeps its routes. A host that was killed is not connected: Boot does that.
func (h *Host) Link(ctx context.Context, up bool) error {
	if up && !h.Runs() {
		return nil
	}
	state := map[bool]string{true: "up", false: "down"}[up]
	err := ip(ctx, h.set.switchPID, "link set", h.port, state)
	h.linked.Store(err == nil && up)
	return err
}

// reachTimeout is the time-out of the attempt to reach an address that was cut off.
const reachTimeout = 500 * time.Millisecond

// Unreached returns the proof that an address does not answer, or an error if it accepts or refuses
// connections, or if this host could not try.
func Unreached(address string) (proof string, err error) {
	connection, err := net.DialTimeout("tcp", address, reachTimeout)
	var late net.Error
	switch {
	case err == nil:
		return "", errors.Join(fmt.Errorf("%s still answers", address), connection.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", fmt.Errorf("%s still answers: %w", address, err)
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH):
		return "from this host: " + err.Error(), nil
	}
	return "", fmt.Errorf("whether %s answers is not known: %w", address, err)
}

// LeastRate is the lowest rate to which a link can be limited, in bytes per second.
const LeastRate = 10_000

// Limit limits the link of the host to a rate in each direction (tc-tbf), in bytes per second, which include
// the headers of frames. A rate of 0 removes the limit.
func (h *Host) Limit(ctx context.Context, rate float64) error {
	h.rate = rate
	change := "qdisc replace dev"
	words := fmt.Sprintf("root tbf rate %.0fbit burst %d latency %v", 8*rate,
		burst(rate), queueSpan)
	if rate == 0 {
		change, words = "qdisc delete dev", "root"
	}
	return errors.Join(
		In(ctx, h.First(), "tc", change, "eth0", words),
		In(ctx, h.set.switchPID, "tc", change, h.port, words),
	)
}

// burst returns the burst of a limited link in bytes.
func burst(rate float64) int { return max(leastBurst, int(rate*burstSpan.Seconds())) }

// ProbeRate proves the limit of the link, which Limit has set: it sends bytes over the link in each direction
// and returns how long they took. It fails if they arrived earlier than the rate allows, or much later.
func (h *Host) ProbeRate(ctx context.Context) (proof string, err error) {
	bytes := burst(h.rate) + int(h.rate*probeSpan.Seconds())
	here, there, err := h.connect(ctx)
	if err != nil {
		return "", fmt.Errorf("probe the link of %s: %w", h.Name, err)
	}
	defer func() { err = errors.Join(err, here.Close(), there.Close()) }()
	toHost, err := transferTime(here, there, bytes)
	if err != nil {
		return "", fmt.Errorf("probe the link to %s: %w", h.Name, err)
	}
	fromHost, err := transferTime(there, here, bytes)
	if err != nil {
		return "", fmt.Errorf("probe the link from %s: %w", h.Name, err)
	}
	soonest := probeSpan * 95 / 100
	latest := probeSpan + time.Duration(float64(bytes)/h.rate/leastHeld*float64(time.Second))
	for _, took := range []time.Duration{toHost, fromHost} {
		if took < soonest || took > latest {
			return "", fmt.Errorf("the link of %s does not hold its rate of %.4g MB/s: %d bytes took %v to it and "+
				"%v from it, expected %v to %v",
				h.Name, h.rate/1e6, bytes, toHost, fromHost, soonest, latest)
		}
	}
	const shown = 100 * time.Microsecond
	return fmt.Sprintf("%d bytes took %v to it and %v from it", bytes, toHost.Round(shown),
		fromHost.Round(shown)), nil
}

// transferTime returns how long a number of bytes takes from one end of a connection to the other.
func transferTime(from, to net.Conn, bytes int) (time.Duration, error) {
	begun := time.Now()
	deadline := begun.Add(probePatience)
	if err := errors.Join(from.SetDeadline(deadline), to.SetDeadline(deadline)); err != nil {
		return 0, err
	}
	sent := make(chan error, 1)
	go func() {
		var err error
		piece := make([]byte, pieceBytes)
		for left := bytes; left > 0 && err == nil; left -= len(piece) {
			_, err = from.Write(piece[:min(left, len(piece))])
		}
		sent <- err
	}()
	_, err := io.CopyN(io.Discard, to, int64(bytes))
	took := time.Since(begun)
	return took, errors.Join(err, <-sent)
}

// connect returns both ends of a connection between this host and h.
func (h *Host) connect(ctx context.Context) (here, there net.Conn, err error) {
	listener, err := h.listen()
	if err != nil {
		return nil, nil, err
	}
	var dialer net.Dialer
	if here, err = dialer.DialContext(ctx, "tcp", listener.Addr().String()); err == nil {
		there, err = listener.Accept()
	}
	if err != nil && here != nil {
		err = errors.Join(err, here.Close())
	}
	return here, there, errors.Join(err, listener.Close())
}

// listen listens at a free port of h.
func (h *Host) listen() (listener net.Listener, err error) {
	err = onThrowawayThread(func() (err error) {
		if err = enter(h.First()); err == nil {
			listener, err = net.Listen("tcp", net.JoinHostPort(h.Address, "0"))
		}
		return err
	})
	return listener, err
}

// enter moves this thread into the network namespace of a process.
func enter(pid int) error {
	network, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return err
	}
	err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET)
	return errors.Join(err, network.Close())
}
