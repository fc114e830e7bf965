package accept

import (
	"net"
	"time"
)

// AnswerTimeout bounds the time in which a peer of a unit has to read an answer.
const AnswerTimeout = 10 * time.Second

// limited is a connection whose writes end in time.
type limited struct {
	net.Conn
	timeout time.Duration
	until   time.Time // the deadline of writing
}

// LimitWrites returns the connection with a limit for its writes: one that the peer does not read fails when
// it has lasted between one and two timeouts. A timeout of 0 limits nothing. One goroutine writes at a time.
func LimitWrites(connection net.Conn, timeout time.Duration) net.Conn {
	if timeout == 0 {
		return connection
	}
	return &limited{Conn: connection, timeout: timeout}
}

// Write implements net.Conn. A deadline costs more than a look at the clock: it is set once in a timeout
// only.
func (l *limited) Write(data []byte) (int, error) {
	if now := time.Now(); l.until.Sub(now) < l.timeout {
		l.until = now.Add(2 * l.timeout)
		if err := l.SetWriteDeadline(l.until); err != nil {
			return 0, err
		}
	}
	return l.Conn.Write(data)
}
