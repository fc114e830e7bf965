package process

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// pausePatience bounds how long processes may take to stop after SIGSTOP: one that waits
// for a disk stops only afterwards.
const pausePatience = 10 * time.Second

// Pause implements fleet.Instance. It returns when each process of the unit has stopped.
func (u *unit) Pause(context.Context) (proof string, err error) {
	stopped, err := u.signalUntil(syscall.SIGSTOP, func(p entry) bool { return p.stopped })
	if err != nil {
		return "", fmt.Errorf("pause unit %s: %w", u.Spec.Name, err)
	}
	return fmt.Sprintf("%d processes, all of them stopped", stopped), nil
}

// Resume implements fleet.Instance.
func (u *unit) Resume(context.Context) error {
	if _, err := u.signalUntil(syscall.SIGCONT, func(p entry) bool { return !p.stopped }); err != nil {
		return fmt.Errorf("resume unit %s: %w", u.Spec.Name, err)
	}
	return nil
}

// signalUntil signals every process of the unit until each is done, and returns their
// number.
func (u *unit) signalUntil(signal syscall.Signal, done func(entry) bool) (int, error) {
	all, waiting, err := signalUntil(u.among, signal, done, pausePatience)
	switch {
	case err != nil:
		return 0, err
	case len(all) == 0:
		return 0, fmt.Errorf("it has ended%s", u.Log.LastWords())
	case len(waiting) > 0:
		return 0, fmt.Errorf("%d of its %d processes have not reacted to the signal %v within %v", len(waiting),
			len(all), signal, pausePatience)
	}
	return len(all), nil
}

// among returns those of all processes that belong to the unit.
func (u *unit) among(all []entry) []int {
	if u.Spec.Foreign {
		return below(u.command.Process.Pid, all)
	}
	return []int{u.command.Process.Pid}
}

// signalUntil signals some of the living processes until each of them is done, or the time
// is over. choose returns them, given all processes. signalUntil returns their process IDs,
// and of these the ones that are not done. It repeats the signal, because processes may
// start others meanwhile.
func signalUntil(
	choose func(all []entry) []int, signal syscall.Signal, done func(entry) bool, patience time.Duration,
) (living, waiting []int, err error) {
	wait := time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(wait) {
		wait = min(2*wait, 10*time.Millisecond)
		all, err := processes()
		if err != nil {
			return nil, nil, err
		}
		pids := choose(all)
		living, waiting = nil, nil
		for _, p := range all {
			if p.zombie || !slices.Contains(pids, p.pid) {
				continue
			}
			if living = append(living, p.pid); !done(p) {
				waiting = append(waiting, p.pid)
				_ = syscall.Kill(p.pid, signal) // it may have ended meanwhile
			}
		}
		if len(waiting) == 0 || time.Now().After(deadline) {
			return living, waiting, nil
		}
	}
}
