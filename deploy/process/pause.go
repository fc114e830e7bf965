package process

import (
	"fmt"
	"slices"
	"syscall"
	"time"
)

// pausePatience is how long processes may take to stop after SIGSTOP: one in the midst
// of a call to the disk comes out of it first.
const pausePatience = 10 * time.Second

// pause stops every process of the unit and sees that each has stopped.
func (u *unit) pause() (proof string, err error) {
	stopped, err := u.signalUntil(syscall.SIGSTOP, func(p entry) bool { return p.stopped })
	if err != nil {
		return "", fmt.Errorf("pause unit %s: %w", u.Spec.Name, err)
	}
	return fmt.Sprintf("%d processes, all of them stopped", stopped), nil
}

// resume lets them go on.
func (u *unit) resume() error {
	if _, err := u.signalUntil(syscall.SIGCONT, func(p entry) bool { return !p.stopped }); err != nil {
		return fmt.Errorf("resume unit %s: %w", u.Spec.Name, err)
	}
	return nil
}

// signalUntil signals every process of the unit until each is as it shall be, and
// returns how many there are. Those that are made meanwhile need another round.
func (u *unit) signalUntil(signal syscall.Signal, done func(entry) bool) (int, error) {
	for deadline := time.Now().Add(pausePatience); ; time.Sleep(time.Millisecond) {
		all, err := processes()
		if err != nil {
			return 0, err
		}
		pids := []int{u.command.Process.Pid}
		if u.Spec.Foreign {
			pids = below(u.command.Process.Pid, all)
		}
		waiting := 0
		for _, p := range all {
			if slices.Contains(pids, p.pid) && !p.zombie && !done(p) {
				waiting++
				_ = syscall.Kill(p.pid, signal) // it may have ended meanwhile
			}
		}
		switch {
		case len(pids) == 0 || !slices.ContainsFunc(all, func(p entry) bool { return slices.Contains(pids, p.pid) && !p.zombie }):
			return 0, fmt.Errorf("it has ended%s", u.Log.LastWords())
		case waiting == 0:
			return len(pids), nil
		case time.Now().After(deadline):
			return 0, fmt.Errorf("after %v and signal %v %d of its %d processes are not as they shall be", pausePatience, signal, waiting, len(pids))
		}
	}
}
