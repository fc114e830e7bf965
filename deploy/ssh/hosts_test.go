package ssh

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/ssh/sshtest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestNamedHosts checks that names are refused that ssh would not take as a host.
func TestNamedHosts(t *testing.T) {
	for text, says := range map[string]string{
		"user@a, b,ssh://c:2222": "", "a,a": "named twice", "a,,b": "is no host", "-oProxyCommand=x": "is no host",
		"a b": "is no host",
	} {
		names, err := Named(func(string) (string, bool) { return text, true })
		if says == "" && (err != nil || len(names) != 3) ||
			says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %q, %v, want %q", text, names, err, says)
		}
	}
	for _, set := range []bool{false, true} {
		if names, err := Named(func(string) (string, bool) { return "", set }); len(names) > 0 || err != nil {
			t.Errorf("without hosts in the variable (set: %t): %q, %v, want no hosts", set, names, err)
		}
	}
}

// TestPlaces checks which host each unit gets, by its node, its volume, or in turn.
func TestPlaces(t *testing.T) {
	unit := func(name, node, volume string) lab.UnitSpec {
		return lab.UnitSpec{
			Name:      name,
			Storage:   lab.Storage{Volume: volume},
			Placement: lab.Placement{Node: node},
		}
	}
	places, err := place([]lab.UnitSpec{
		unit("a", "", ""), unit("b", "node-2", ""), unit("c", "", ""), unit("d", "", "a"), unit("e", "edge", ""),
		unit("f", "", "b"), unit("g", "", ""),
	}, 3)
	want := map[string]int{"a": 0, "b": 1, "c": 1, "d": 0, "e": 0, "f": 1, "g": 2}
	if err != nil || fmt.Sprint(places) != fmt.Sprint(want) {
		t.Errorf("places %v, %v, want %v", places, err, want)
	}
	places, err = place([]lab.UnitSpec{unit("a", "node-1a", ""), unit("b", "node-1b", "")}, 2)
	if err != nil || places["a"] == places["b"] {
		t.Errorf("places %v, %v, want a host for each of two nodes whose names only begin like node-1", places, err)
	}
	places, err = place([]lab.UnitSpec{unit("a", "edge", ""), unit("b", "node-1", ""), unit("c", "core", "")}, 3)
	if want := map[string]int{"a": 1, "b": 0, "c": 2}; err != nil || fmt.Sprint(places) != fmt.Sprint(want) {
		t.Errorf("places %v, %v, want %v: a host for each node", places, err, want)
	}
	places, err = place([]lab.UnitSpec{unit("a", "node-0", ""), unit("b", "node-1", "")}, 2)
	if want := map[string]int{"a": 1, "b": 0}; err != nil || fmt.Sprint(places) != fmt.Sprint(want) {
		t.Errorf("places %v, %v, want %v: node-0 has no number of a host", places, err, want)
	}
	_, err = place([]lab.UnitSpec{unit("a", "node-1", ""), unit("b", "edge", "")}, 1)
	deploytest.Says(t, err, "unit b is on edge, and the layout names more nodes than the 1", "--hosts")
	_, err = place([]lab.UnitSpec{unit("a", "node-1", "goods"), unit("b", "node-2", "goods")}, 2)
	deploytest.Says(t, err, "unit b on node-2 shares the volume goods with a unit on another host")
	if _, err := place([]lab.UnitSpec{unit("a", "", "")}, 0); err == nil ||
		!strings.Contains(err.Error(), "--hosts") {
		t.Errorf("no hosts: %v", err)
	}
}

// TestSamplesOfTwoHosts checks that samples are added up at the times of the first host.
func TestSamplesOfTwoHosts(t *testing.T) {
	a := []lab.UsageSample{{Seconds: 1, CPUSeconds: 1, MemoryBytes: 10},
		{Seconds: 2, CPUSeconds: 2, MemoryBytes: 20}}
	b := []lab.UsageSample{{Seconds: 1.5, CPUSeconds: 0.5, MemoryBytes: 5}}
	want := []lab.UsageSample{{Seconds: 1, CPUSeconds: 1, MemoryBytes: 10},
		{Seconds: 2, CPUSeconds: 2.5, MemoryBytes: 25}}
	if sum := samples(a, b); !slices.Equal(sum, want) {
		t.Errorf("the sum is %v, want %v", sum, want)
	}
}

// TestCoursesOfTwoHosts checks that courses are added up at the times of the first host, without memory if
// one host has none.
func TestCoursesOfTwoHosts(t *testing.T) {
	a := &lab.UsageCourse{End: []float64{1, 2, 3}, Cores: []float64{1, 0, 2}, Memory: []int64{10, 20, 30}}
	b := &lab.UsageCourse{End: []float64{1.1, 2.1}, Cores: []float64{0.5, 0.25}, Memory: []int64{1, 2}}
	want := lab.UsageCourse{End: a.End, Cores: []float64{1.5, 0.25, 2.25}, Memory: []int64{11, 22, 32}}
	if sum := courses(a, b); !reflect.DeepEqual(*sum, want) {
		t.Errorf("the sum is %+v, want %+v", *sum, want)
	}
	if courses(nil, b) != b || courses(a, nil) != a || courses(nil, nil) != nil {
		t.Error("a host without units of the system adds nothing")
	}
	b.Memory = nil
	b.Unavailable = map[string]string{"memory": "why"}
	for _, sum := range []*lab.UsageCourse{courses(a, b), courses(b, a)} {
		if sum.Memory != nil || sum.Unavailable["memory"] != "why" || len(sum.Cores) != len(sum.End) {
			t.Errorf("the sum is %+v, want one without memory, and why", *sum)
		}
	}
}

// metered is a metering that has ended with a result.
type metered struct {
	lab.Metering
	used lab.Metered
	err  error
}

// Stop implements lab.Metering.
func (m *metered) Stop() (lab.Metered, error) { return m.used, m.err }

// TestALostHostFailsTheMetering checks that Stop returns the error of a host that cannot be asked, although
// others have answered.
func TestALostHostFailsTheMetering(t *testing.T) {
	lost := &metered{err: errors.New("the connection to host left is lost")}
	right := &metered{used: lab.Metered{Roles: map[string]lab.Usage{"front": {Units: 1}},
		Sources: map[string]string{"front": "/proc"}}}
	m := &hostsMetering{ctx: t.Context(), parts: []lab.Metering{lost, right}}
	_, err := m.Stop()
	deploytest.Says(t, err, "the connection to host left is lost")
}

// TestHostsThatCannotBeUsed checks that Preflight refuses hosts with advice, and leaves nothing on them.
func TestHostsThatCannotBeUsed(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left")
	h.Use(t)
	host := h.Hosts()[0]
	agent := deploytest.Agent(t)
	for _, folder := range []struct{ name, options string }{{"noexec", "noexec"}, {"full", "size=64k"}} {
		path := filepath.Join(t.TempDir(), folder.name)
		testset.Must(t, os.Mkdir(path, 0o700))
		testset.Must(t, host.Run(t.Context(), "mount", "-t", "tmpfs", "-o", folder.options, "tmpfs", path))
		h.AddHost(t, folder.name, "HostName "+host.Address, "SetEnv TMPDIR="+path)
	}
	h.AddHost(t, "stranger", "HostName "+host.Address, "UserKnownHostsFile /dev/null")
	h.AddHost(t, "keyless", "HostName "+host.Address, "PubkeyAuthentication no")
	h.AddHost(t, "closed", "HostName "+host.Address, "Port 23")
	// ssh reaches this one through another host, as with ProxyJump or a forwarded port: at another address.
	h.AddHost(t, "relayed", "HostName 127.0.0.1", "ProxyCommand ssh -W "+host.Address+":22 left",
		"HostKeyAlias "+host.Address)
	for name, says := range map[string]string{
		"noexec":   "programs cannot run in its folder for temporary files",
		"full":     "its folder for temporary files is full",
		"stranger": "its key is not the one that you know, or you know none",
		"keyless":  "it does not know your key",
		"closed":   "Connection refused", "relayed": "without a relay",
	} {
		d := newDeployer("", agent, []string{name})
		if err := d.Preflight(t.Context(), deploytest.Layout("front")); err == nil ||
			!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "host "+name) {
			t.Errorf("%s: %v, want it to say %q", name, err, says)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.AwaitNothing(t, 10*time.Second)
	// The first pattern covers the folders that TMPDIR names, the second the host's own. ls fails if either
	// has no match.
	out, err := exec.Command("nsenter", fmt.Sprintf("--target=%d", host.First()), "--mount", "sh", "-c",
		"ls -d /tmp/*/*/*/cleave-agent-* /tmp/cleave-agent-* || true").Output()
	if err != nil || len(out) > 0 {
		t.Errorf("left is %q (%v)", out, err)
	}
}

// TestHostsThatDoNotReachEachOther checks that they are refused by every Preflight until they do.
func TestHostsThatDoNotReachEachOther(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left", "right")
	h.Use(t)
	left := h.Hosts()[0]
	right := h.Hosts()[1]
	testset.Must(t, left.Run(t.Context(), "ip", "route", "add", "unreachable", right.Address))
	d := newDeployer(deploytest.Program(t), deploytest.Agent(t), h.Names)
	for range 2 {
		deploytest.Says(t, d.Preflight(t.Context(), deploytest.Layout("front")), "does not reach host")
	}
	testset.Must(t, left.Run(t.Context(), "ip", "route", "delete", "unreachable", right.Address))
	deploytest.NoError(t, d.Preflight(t.Context(), deploytest.Layout("front")))
	deploytest.NoError(t, d.Close())
	h.AwaitNothing(t, 10*time.Second)
}

// TestUnitsOfADeadConductorEnd checks that agents end the units of a killed conductor.
func TestUnitsOfADeadConductorEnd(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left", "right")
	h.Use(t)
	conductor := startConductor(t, h)
	if running := strings.Join(h.Commands(), "\n"); strings.Count(running, " serve ") < 2 {
		t.Errorf("on the hosts there runs %s, want an agent on each", running)
	}
	testset.Must(t, conductor.Process.Kill())
	_ = conductor.Wait() // it was killed
	h.AwaitNothing(t, 20*time.Second)
}

// TestAHostThatIsCutOffRemovesWhatItHas checks that an agent ends its units when its lease is not renewed.
func TestAHostThatIsCutOffRemovesWhatItHas(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left")
	h.Use(t)
	conductor := startConductor(t, h)
	testset.Must(t, h.Hosts()[0].Link(t.Context(), false)) // the link goes down
	h.AwaitNothing(t, time.Minute)
	_ = conductor.Process.Kill() // it may have ended
	_ = conductor.Wait()         // it was killed
}

// startConductor starts a conductor and waits until it has deployed units to the hosts.
func startConductor(t *testing.T, h *sshtest.Hosts) *exec.Cmd {
	t.Helper()
	return deploytest.Conductor(t,
		append([]string{deploytest.Program(t), deploytest.Agent(t), deploytest.Folder(t)}, h.Names...)...)
}

// TestALostConnectionFailsTheTrial checks that a lost connection fails the trial but not the next one.
func TestALostConnectionFailsTheTrial(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left")
	h.Use(t)
	d := newDeployer(deploytest.Program(t), deploytest.Agent(t), h.Names)
	deploy := func() lab.Deployment {
		t.Helper()
		running := deploytest.Deploy(t, d, deploytest.Layout("front"))
		deploytest.Await(t, running, lab.EventReady)
		return running
	}
	running := deploy()
	// This is the sshd of our connection; the one that listens stays.
	testset.Must(t, h.Hosts()[0].Run(t.Context(), "sh", "-c", "kill -9 $(pgrep -f '^sshd: root@notty')"))
	select {
	case <-running.Failed():
	case <-time.After(20 * time.Second):
		t.Fatal("the trial has not failed")
	}
	if err := running.Failure(); !strings.Contains(err.Error(), "the connection to host left is lost") {
		t.Errorf("Failure: %v", err)
	}
	deploytest.Says(t, running.Stop(), "host left")
	h.AwaitNothing(t, 20*time.Second)
	deploytest.NoError(t, deploy().Stop())
	deploytest.NoError(t, d.Close())
	h.AwaitNothing(t, 20*time.Second)
}

// TestProofIsTheFileOfRoot checks that Proof accepts only a file that root owns, and that Target returns the
// address and port of a host.
func TestProofIsTheFileOfRoot(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left")
	h.Use(t)
	host := h.Hosts()[0]
	if proof, err := Proof(t.Context(), "left"); err == nil {
		t.Errorf("without a file there is the proof %q", proof)
	}
	// The host gets a copy of /etc, which ends with the host.
	const prepare = `mkdir /run/etc && cp -a /etc/. /run/etc && mount --bind /run/etc /etc && printf 4f0c1a8be6d94c7fa1b2 >/etc/cleave-load.txt`
	testset.Must(t, host.Run(t.Context(), "sh", "-c", prepare))
	if proof, err := Proof(t.Context(), "left"); err != nil || string(proof) != "4f0c1a8be6d94c7fa1b2" {
		t.Errorf("proof %q, %v", proof, err)
	}
	testset.Must(t, host.Run(t.Context(), "chown", "nobody", "/etc/cleave-load.txt"))
	if proof, err := Proof(t.Context(), "left"); err == nil {
		t.Errorf("a file that nobody owns is the proof %q", proof)
	}
	target, port, err := Target(t.Context(), "left")
	if _, parsed := netip.ParseAddr(target); err != nil || parsed != nil || port != 22 {
		t.Errorf("Target: %s, port %d, %v, want an address and port 22", target, port, err)
	}
}
