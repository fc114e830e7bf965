package starter

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// askPatience is how long a caller may take to say what it wants.
	askPatience = 10 * time.Second
	// dialPatience is how long a unit may take to accept.
	dialPatience = 5 * time.Second
	// longestLine is that of what a caller says before it is connected.
	longestLine = 512
)

// Door lets callers in that prove who they are with the token in a file, until it cannot
// listen any more.
func Door(address, tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return answer(listener, func(caller net.Conn) error { return admit(caller, string(token)) })
}

// acceptAgain is when callers are taken again where that has failed: no descriptor may be left for one.
const acceptAgain = 10 * time.Millisecond

// answer has callers served, and tells them what went wrong, until the listener is closed.
func answer(listener net.Listener, serve func(net.Conn) error) error {
	for {
		caller, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			time.Sleep(acceptAgain)
			continue
		}
		go func() {
			defer func() { _ = caller.Close() }() // all has been said
			if err := serve(caller); err != nil {
				_, _ = fmt.Fprintln(caller, err) // it may be gone
			}
		}()
	}
}

// greet returns what a caller wants that knows the token, and what follows.
func greet(caller net.Conn, token string) (wanted string, from *bufio.Reader, err error) {
	if err := caller.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return "", nil, err
	}
	from = bufio.NewReaderSize(caller, longestLine)
	said, err := line(from)
	if err != nil || subtle.ConstantTimeCompare([]byte(said), []byte(token)) != 1 {
		return "", nil, errors.New("that is not the token")
	}
	wanted, err = line(from)
	return wanted, from, err
}

// admit does what one caller wants.
func admit(caller net.Conn, token string) error {
	wanted, from, err := greet(caller, token)
	if err != nil {
		return err
	}
	if name, is := strings.CutPrefix(wanted, lab.DoorCount); is {
		ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, name)
		if err != nil {
			return err
		}
		_, err = io.WriteString(caller, strconv.Itoa(len(found))+"\n")
		return err
	}
	address, is := strings.CutPrefix(wanted, lab.DoorDial)
	if !is {
		return fmt.Errorf("%.20q is nothing that a door does", wanted)
	}
	unit, err := net.DialTimeout("tcp", address, dialPatience)
	if err != nil {
		return err
	}
	defer func() { _ = unit.Close() }() // all has been said
	if _, err := io.WriteString(caller, lab.DoorOpen+"\n"); err != nil {
		return err
	}
	if err := caller.SetDeadline(time.Time{}); err != nil {
		return err
	}
	connect(caller, from, unit)
	return nil
}

// line reads one without its end.
func line(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return string(text[:len(text)-1]), nil
}

// connect passes on what both sides say until both have ended.
func connect(caller net.Conn, from io.Reader, unit net.Conn) {
	back := make(chan struct{})
	go func() {
		_, _ = io.Copy(caller, unit) // either side may break
		closeWrite(caller)
		close(back)
	}()
	_, _ = io.Copy(unit, from)
	closeWrite(unit)
	<-back
}

// closeWrite tells the other side that nothing more comes.
func closeWrite(c net.Conn) {
	if half, can := c.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite() // it may be gone
	}
}
