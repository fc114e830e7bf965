package accept

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimitWrites: a write that the peer does not read fails after one to two timeouts, no matter how long
// the connection was idle before; one that is read succeeds.
func TestLimitWrites(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Second / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer func() {
				_ = near.Close()
				_ = far.Close()
			}()
			writer := LimitWrites(far, time.Second)
			go func() { _, _ = near.Read(make([]byte, 1)) }()
			if _, err := writer.Write([]byte("a")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(idle)
			begun := time.Now()
			_, err := writer.Write([]byte("b"))
			if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < time.Second ||
				took > 2*time.Second {
				t.Errorf("after %v without a write: %v in %v", idle, err, took)
			}
		})
	}
	near, far := net.Pipe()
	defer func() {
		_ = near.Close()
		_ = far.Close()
	}()
	if LimitWrites(far, 0) != far {
		t.Error("a timeout of 0 limits writes")
	}
}
