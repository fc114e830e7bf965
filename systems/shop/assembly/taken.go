package assembly

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/lab"
)

// takenPath is asked of every unit that reacts to events while the shop settles. The answer is how many
// messages the unit has taken in since it began, or event.Working while it works on one, or has one to
// publish. It is no call of the shop's, and its bytes are not counted.
const takenPath = SettledPath + "/taken"

// taken returns what takenPath is answered with.
func (u *unit) taken(ctx context.Context) (int64, error) {
	for name := range u.opened {
		db, err := u.looker(ctx, name)
		if err != nil {
			return event.Working, err
		}
		if n, err := event.Pending(ctx, db); err != nil || n > 0 {
			return event.Working, err
		}
	}
	return event.Taken(u.around.Broker), nil
}

// takenByAll adds up what this unit and all others that react to events have taken in; event.Working: one of
// them works.
func (u *unit) takenByAll(ctx context.Context) (int64, error) {
	sum, err := u.taken(ctx)
	for _, kind := range u.design.Units {
		reacts := slices.ContainsFunc(topology(u.design).Queues, func(q broker.Queue) bool {
			return slices.Contains(kind.Components, q.Name)
		})
		for _, instance := range kind.Instances() {
			if !reacts || instance == u.instance || err != nil || sum == event.Working {
				continue
			}
			var taken int64
			if taken, err = u.takenBy(ctx, instance); taken == event.Working {
				sum = event.Working
			} else {
				sum += taken
			}
		}
	}
	return sum, err
}

// takenBy asks all replicas of an instance. One on standby need not be there yet.
func (u *unit) takenBy(ctx context.Context, instance string) (sum int64, err error) {
	addresses, err := u.peer(instance)
	if err != nil {
		return event.Working, err
	}
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		address, standby := strings.CutPrefix(address, lab.StandbyMark)
		taken, err := askTaken(ctx, address)
		switch {
		case err != nil && standby:
		case err != nil || taken == event.Working:
			return event.Working, err
		default:
			sum += taken
		}
	}
	return sum, nil
}

// askTaken asks a unit at an address: host:port, or unix:PATH.
func askTaken(ctx context.Context, address string) (int64, error) {
	network := "tcp"
	if path, is := strings.CutPrefix(address, "unix:"); is {
		network, address = "unix", path
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://unit"+takenPath, nil)
	if err != nil {
		return event.Working, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return event.Working, err
	}
	const longest = 1 << 10
	text, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return event.Working, err
	}
	taken, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return event.Working, fmt.Errorf("the unit at %s says %q of its events", address, text)
	}
	return taken, nil
}

// answerTaken answers takenPath.
func (u *unit) answerTaken(ctx context.Context, w io.Writer) {
	taken, err := u.taken(ctx)
	text := strconv.FormatInt(taken, 10)
	if err != nil {
		text = err.Error()
	}
	_, _ = io.WriteString(w, text) // who asked asks again
}

// apart is a listener that answers takenPath itself, and hands out all other connections when they have sent
// something.
type apart struct {
	net.Listener
	answer  func(io.Writer)
	arrived chan arrival
	closed  chan struct{}
	once    sync.Once
}

// arrival is what a listener accepts.
type arrival struct {
	net.Conn
	error
}

func newApart(listener net.Listener, answer func(io.Writer)) *apart {
	a := &apart{Listener: listener, answer: answer, arrived: make(chan arrival), closed: make(chan struct{})}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				if !a.hand(arrival{nil, err}) {
					return
				}
				continue
			}
			go a.sort(connection)
		}
	}()
	return a
}

// hand hands something to Accept, and reports whether the listener is open.
func (a *apart) hand(what arrival) bool {
	select {
	case a.arrived <- what:
		return true
	case <-a.closed:
		return false
	}
}

// sort waits for the first bytes of a connection and finds out who calls.
func (a *apart) sort(connection net.Conn) {
	const asks = http.MethodGet + " " + takenPath + " "
	if begins(connection, asks) {
		if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
			var text strings.Builder
			a.answer(&text)
			_, _ = fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", text.Len(), &text)
		}
	} else if a.hand(arrival{connection, nil}) {
		return
	}
	_ = connection.Close() // all is said
}

// begins reports whether the first bytes of a connection are a text. They stay to be read.
func begins(connection net.Conn, text string) bool {
	spoken, is := connection.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := spoken.SyscallConn()
	if err != nil {
		return false
	}
	head, n := make([]byte, len(text)), 0
	err = raw.Read(func(descriptor uintptr) bool {
		n, _, err = syscall.Recvfrom(int(descriptor), head, syscall.MSG_PEEK)
		return !errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && n > 0 && string(head[:n]) == text
}

// Accept implements net.Listener.
func (a *apart) Accept() (net.Conn, error) {
	select {
	case next := <-a.arrived:
		return next.Conn, next.error
	case <-a.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (a *apart) Close() error {
	a.once.Do(func() { close(a.closed) })
	return a.Listener.Close()
}
