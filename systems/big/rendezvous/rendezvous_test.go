package rendezvous

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestWithCore(t *testing.T) {
	other := errors.New("core answers 400")
	for _, test := range []struct {
		name     string
		outcomes []error // of the attempts; the last one repeats
		want     error
		attempts int
	}{
		{"core is there", []error{nil}, nil, 1},
		{"core is late", []error{syscall.ENOENT, fmt.Errorf("dial: %w", syscall.ECONNREFUSED), nil}, nil, 3},
		{"core refuses the message", []error{syscall.ENOENT, other}, other, 2},
		{"core never comes", []error{syscall.ECONNREFUSED}, syscall.ECONNREFUSED, 6002},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				err := WithCore(func() error {
					attempts++
					return test.outcomes[min(attempts, len(test.outcomes))-1]
				})
				if !errors.Is(err, test.want) || attempts != test.attempts {
					t.Errorf("error %v after %d attempts, want %v after %d", err, attempts, test.want, test.attempts)
				}
			})
		})
	}
}
