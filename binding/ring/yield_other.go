//go:build !amd64

package ring

import "golang.org/x/sys/unix"

// Yield lets other processes on this processor run first, if there are any.
func Yield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
