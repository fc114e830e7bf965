package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// doomed is the label of a conductor that is killed.
const doomed = "000000-1-1"

// TestMain lets the test program be that conductor.
func TestMain(m *testing.M) {
	deploytest.Main(m, nil, func([]string) error {
		_, err := Make(context.Background(), doomed, "doomed")
		return err
	})
}

// newSet makes hosts that end with the test. It skips the test where there can be none.
func newSet(t *testing.T, label string, names ...string) *Set {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	s, err := Make(t.Context(), label, names...)
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, s.Close()) })
	return s
}

// links returns the links of sets of hosts on this host.
func links(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/sys/class/net/cleave-*")
	testset.Must(t, err)
	return all
}

// TestHostsReachEachOther checks names, connections, Link, and that Close ends all processes.
func TestHostsReachEachOther(t *testing.T) {
	s := newSet(t, "000000-2-2", "alpha", "beta")
	alpha := s.Hosts()[0]
	beta := s.Hosts()[1]
	name, err := alpha.Command(t.Context(), "hostname").Output()
	if err != nil || string(name) != "alpha\n" {
		t.Errorf("it is called %q: %v", name, err)
	}
	if err := beta.Run(t.Context(), "ping", "-c1", "-W2", alpha.Address); err != nil {
		// This host may have no ping. A refused connection shows the same.
		probe(t, alpha.Address, "refused")
	}
	probe(t, beta.Address, "refused")
	testset.Must(t, beta.Link(t.Context(), false))
	probe(t, beta.Address, "timeout", "no route")
	if beta.IsUp() || !beta.Runs() || !alpha.IsUp() {
		t.Errorf("beta is cut off, is up: %t, runs: %t; alpha is up: %t", beta.IsUp(), beta.Runs(), alpha.IsUp())
	}
	testset.Must(t, beta.Link(t.Context(), true))
	probe(t, beta.Address, "refused")
	sleep := alpha.Command(t.Context(), "sleep", "1000")
	testset.Must(t, alpha.Start(sleep))
	deploytest.NoError(t, s.Close())
	if err := sleep.Wait(); err == nil {
		t.Error("what ran on the host has ended well, want that it was killed")
	}
	if n := len(deploytest.Processes("000000-2-2")); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// probe checks that a connection to an address fails with one of the wanted errors.
func probe(t *testing.T, address string, want ...string) {
	t.Helper()
	_, err := net.DialTimeout("tcp", address+":9", 3*time.Second)
	for _, how := range want {
		if err != nil && strings.Contains(err.Error(), how) {
			return
		}
	}
	t.Errorf("connect to %s: %v, want %q", address, err, want)
}

// TestTheEndOfASetIsNotThatOfAnother checks that Close of a set does not delete the link of another set that
// has got the same number, and so the same name of its link, after the kernel had deleted the first link.
func TestTheEndOfASetIsNotThatOfAnother(t *testing.T) {
	first := newSet(t, "000000-5-5", "alpha")
	for _, held := range first.held {
		testset.Must(t, held.Process.Kill())
	}
	for index := first.linkIndex; ; {
		if _, err := net.InterfaceByIndex(index); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	other := newSet(t, "000000-6-6", "alpha")
	if other.number != first.number {
		t.Skipf("somebody else has taken number %d meanwhile", first.number)
	}
	deploytest.NoError(t, first.Close())
	probe(t, other.Hosts()[0].Address, "refused")
}

// TestSetsHaveAddressesOfTheirOwn checks that two sets have different addresses, and that their links end
// with them.
func TestSetsHaveAddressesOfTheirOwn(t *testing.T) {
	before := links(t)
	all := []*Set{newSet(t, "000000-3-3", "alpha"), newSet(t, "000000-3-3", "alpha")}
	if all[0].Range(0) == all[1].Range(0) {
		t.Errorf("both have the addresses %s", all[0].Range(0))
	}
	for _, s := range all {
		probe(t, s.Hosts()[0].Address, "refused")
		deploytest.NoError(t, s.Close())
	}
	if after := links(t); len(after) > len(before) {
		t.Errorf("there are links %q, there were %q", after, before)
	}
}

// TestAFileSystemIsShown checks that Show makes a file system visible that was mounted after the start of a
// host, changes no mounts of this host, and that the removal of the folder ends the mount on the host.
func TestAFileSystemIsShown(t *testing.T) {
	s := newSet(t, "000000-7-7", "alpha")
	alpha := s.Hosts()[0]
	folder := filepath.Join(t.TempDir(), "shown")
	testset.Must(t, errors.Join(os.Mkdir(folder, 0o700),
		unix.Mount("tmpfs", folder, "tmpfs", 0, "size=1m")))
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) }) // it may be gone
	before := mountsOf(t, folder)
	testset.Must(t, os.WriteFile(filepath.Join(folder, "goods"), []byte("flour"), 0o600))
	testset.Must(t, s.Show(folder))
	text, err := alpha.Command(t.Context(), "cat", filepath.Join(folder, "goods")).Output()
	if err != nil || string(text) != "flour" {
		t.Errorf("alpha reads %q (%v), want what this host has written", text, err)
	}
	if after := mountsOf(t, folder); !slices.Equal(before, after) {
		t.Errorf("this host has it mounted as %q, want %q as before", after, before)
	}
	testset.Must(t, errors.Join(unix.Unmount(folder, 0), os.Remove(folder)))
	if mounts, err := alpha.Command(t.Context(), "cat", "/proc/self/mountinfo").Output(); err != nil ||
		bytes.Contains(mounts, []byte(folder)) {
		t.Errorf("alpha still has the folder that is gone: %s (%v)", mounts, err)
	}
	deploytest.Says(t, s.Show(folder), folder+" to alpha")
}

// TestNothingIsLeftOfADeadConductor checks that all hosts end with a killed conductor.
func TestNothingIsLeftOfADeadConductor(t *testing.T) {
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	conductor := deploytest.Conductor(t, doomed)
	if len(deploytest.Processes(doomed)) == 0 {
		t.Error("its hosts do not carry its label")
	}
	testset.Must(t, conductor.Process.Kill())
	_ = conductor.Wait() // it was killed
	deploytest.AwaitGone(t, doomed)
}

// TestAHostThatWasKilledIsBooted checks that a killed host runs no processes and does not answer, and that it
// has its name and address again after Boot.
func TestAHostThatWasKilledIsBooted(t *testing.T) {
	const label = "000000-3-3"
	s := newSet(t, label, "alpha")
	alpha := s.Hosts()[0]
	sleeper := alpha.Command(t.Context(), "sleep", "1000")
	testset.Must(t, alpha.Start(sleeper))
	probe(t, alpha.Address, "refused")
	before := len(deploytest.Processes(label))
	testset.Must(t, alpha.Kill(t.Context()))
	if err := sleeper.Wait(); err == nil || alpha.Kills() != 1 {
		t.Errorf("the host was killed %d times, and its process ended with %v", alpha.Kills(), err)
	}
	if alpha.IsUp() || alpha.Runs() {
		t.Errorf("the killed host is up: %t, runs: %t", alpha.IsUp(), alpha.Runs())
	}
	deploytest.NoError(t, alpha.Link(t.Context(), true)) // it was cut off, too: Boot connects it
	if left := len(deploytest.Processes(label)); left >= before {
		t.Errorf("of %d processes %d are left", before, left)
	}
	if connection, err := net.DialTimeout("tcp", net.JoinHostPort(alpha.Address, "9"),
		300*time.Millisecond); err == nil || strings.Contains(err.Error(), "refused") {
		t.Errorf("the killed host answers at %s: %v, %v", alpha.Address, connection, err)
	}
	first := make(chan int)
	go func() { first <- alpha.First() }() // a meter and faults ask for it at any time
	testset.Must(t, alpha.Boot(t.Context()))
	<-first
	probe(t, alpha.Address, "refused")
	if !alpha.IsUp() {
		t.Error("the booted host is not up")
	}
	testset.Must(t, alpha.Boot(t.Context())) // as when a heal has failed, and Stop heals again
	if name, err := alpha.Command(t.Context(), "hostname").Output(); err != nil || string(name) != "alpha\n" {
		t.Errorf("it is called %q: %v", name, err)
	}
}

// TestAFailedBootLeavesNothing checks that a host that could not be booted has no process, and can be booted
// again.
func TestAFailedBootLeavesNothing(t *testing.T) {
	const label = "000000-4-4"
	alpha := newSet(t, label, "alpha").Hosts()[0]
	testset.Must(t, alpha.Kill(t.Context()))
	before := deploytest.Processes(label)
	alpha.rate = 0.01 // bytes per second, which tc refuses
	deploytest.Says(t, alpha.Boot(t.Context()), "tc")
	if left := deploytest.Processes(label); len(left) != len(before) {
		t.Errorf("the processes %v are left, want %v", left, before)
	}
	alpha.rate = 0
	testset.Must(t, alpha.Boot(t.Context()))
	probe(t, alpha.Address, "refused")
}

// TestHostsAreBootedTogether checks, with the race detector, that hosts can be killed and booted at once, as
// by faults of several nodes.
func TestHostsAreBootedTogether(t *testing.T) {
	s := newSet(t, "000000-8-8", "alpha", "beta", "gamma")
	var all sync.WaitGroup
	for _, h := range s.Hosts() {
		all.Go(func() {
			for range 3 {
				deploytest.NoError(t, h.Kill(t.Context()))
				deploytest.NoError(t, h.Boot(t.Context()))
			}
		})
	}
	all.Wait()
	for _, h := range s.Hosts() {
		probe(t, h.Address, "refused")
	}
}

// TestNothingIsBootedAfterClose checks, with the race detector, that a host that is booted while its set is
// closed ends, too, and that later ones are not started.
func TestNothingIsBootedAfterClose(t *testing.T) {
	const label = "000000-10-10"
	s := newSet(t, label, "alpha")
	alpha := s.Hosts()[0]
	first := alpha.First()
	failed := make(chan error)
	go func() {
		var err error
		for err == nil {
			err = alpha.Boot(t.Context())
		}
		failed <- err
	}()
	for alpha.First() == first {
		time.Sleep(time.Millisecond)
	}
	deploytest.NoError(t, s.Close())
	t.Logf("the boot during Close: %v", <-failed)
	deploytest.Says(t, alpha.Boot(t.Context()), "closed")
	if left := deploytest.Processes(label); len(left) > 0 {
		t.Errorf("the processes %v are left", left)
	}
}

// mountsOf returns the mounts on this host of the file system that a folder is in (proc_pid_mountinfo(5):
// the third field is its device); others come and go with other tests.
func mountsOf(t *testing.T, folder string) []string {
	t.Helper()
	var seen unix.Stat_t
	text, err := os.ReadFile("/proc/self/mountinfo")
	testset.Must(t, errors.Join(err, unix.Stat(folder, &seen)))
	device := fmt.Sprintf("%d:%d", unix.Major(seen.Dev), unix.Minor(seen.Dev))
	var found []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[2] == device {
			found = append(found, line)
		}
	}
	return found
}
