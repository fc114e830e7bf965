package accept

import (
	"net"
	"time"
)

// AnswerTimeout limits the time that a peer of a unit may take to read an answer.
const AnswerTimeout = 10 * time.Second

// limited is a connection whose writes have a deadline.
type limited struct {
	net.Conn
	timeout time.Duration
	until   time.Time // current write deadline
}

// LimitWrites returns a connection on which a write fails if it takes longer than one to two timeouts,
// because the peer does not read, or reads too slowly. A timeout of 0 means no limit. Only one goroutine may
// write at a time.
func LimitWrites(connection net.Conn, timeout time.Duration) net.Conn {
	if timeout == 0 {
		return connection
	}
	return &limited{Conn: connection, timeout: timeout}
}

// Write implements net.Conn. Setting a deadline costs more than reading the clock, so it is set at most once
// per timeout, two timeouts ahead.
func (l *limited) Write(data []byte) (int, error) {
	if now := time.Now(); l.until.Sub(now) < l.timeout {
		l.until = now.Add(2 * l.timeout)
		if err := l.SetWriteDeadline(l.until); err != nil {
			return 0, err
		}
	}
	return l.Conn.Write(data)
}
