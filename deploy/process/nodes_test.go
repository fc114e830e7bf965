package process

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// onNodes returns a layout of a lead and a unit "here", both on this host, and one unit on each of two nodes.
// The units on nodes share an address, beside their own.
func onNodes(t *testing.T) lab.Layout {
	t.Helper()
	if err := hosts.Missing(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { // after the deployment's end
		if left := linksOf(t, deploytest.Label(t)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	l := lab.Layout{Lead: "core", Units: []lab.UnitSpec{
		{Name: "core", Runnable: lab.Runnable{Args: []string{"unit", "brief"}}},
		{Name: "here"},
		{Name: "left", Placement: lab.Placement{Node: "west"}},
		{Name: "right", Placement: lab.Placement{Node: "east"}},
	}}
	for i := range l.Units[1:] {
		unit := &l.Units[i+1]
		unit.Role = unit.Name
		unit.Args = []string{"unit", "listener"}
		unit.Listens = true
		if unit.Node != "" {
			unit.Floats = "both"
		}
	}
	return l
}

// reached reports whether a unit accepts connections.
func reached(t *testing.T, d lab.Deployment, unit string) bool {
	t.Helper()
	endpoint, err := d.Endpoint(unit)
	testset.Must(t, err)
	connection, err := net.DialTimeout("tcp", endpoint.Dial, 300*time.Millisecond)
	return err == nil && connection.Close() == nil
}

// networkOf returns the network namespace of a process.
func networkOf(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", "net"))
	testset.Must(t, err)
	return name
}

// linksOf returns the network links of this host that carry a label.
func linksOf(t *testing.T, label string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/sys/class/net/cleave-*/ifalias")
	testset.Must(t, err)
	for _, path := range all {
		if alias, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(alias)) == label {
			found = append(found, path)
		}
	}
	return found
}

// TestUnitsOnNodes checks that each node has an address and a network namespace of its own, that this host
// reaches all units, and that a shared address has the port of the units that share it.
func TestUnitsOnNodes(t *testing.T) {
	d, _ := deploy(t, onNodes(t))
	units := d.Units()
	awaitListener(t, units[1].PID)
	awaitListener(t, units[2].PID)
	awaitListener(t, units[3].PID)
	addresses := map[string]bool{}
	networks := map[string]bool{}
	var ports []string
	for _, u := range units[1:] {
		endpoint, err := d.Endpoint(u.Name)
		if err != nil || endpoint.Bind != endpoint.Dial || !strings.HasPrefix(endpoint.Dial, "198.19.") {
			t.Errorf("%s is at %+v, %v", u.Name, endpoint, err)
		}
		host, port, _ := net.SplitHostPort(endpoint.Dial)
		addresses[host] = true
		networks[networkOf(t, u.PID)] = true
		ports = append(ports, port)
		if !reached(t, d, u.Name) {
			t.Errorf("%s is not reached at %s", u.Name, endpoint.Dial)
		}
	}
	if len(addresses) != 3 || len(networks) != 3 || ports[0] == ports[1] || ports[1] != ports[2] {
		t.Errorf("addresses %v in networks %v, ports %v", addresses, networks, ports)
	}
	shared, err := d.Endpoint("both")
	if host, port, _ := net.SplitHostPort(shared.Dial); err != nil || port != ports[1] || addresses[host] {
		t.Errorf("the shared address is %s (%v), want one of its own with port %s", shared.Dial, err, ports[1])
	}
	if networkOf(t, units[1].PID) != networkOf(t, os.Getpid()) {
		t.Error("a unit that names no node is not on this host")
	}
	if right, here := d.NodeOf("right"), d.NodeOf("here"); right != "east" || here != "" {
		t.Errorf("right is on %q, here on %q", right, here)
	}
}

// TestANodeIsCutOffAndEnds checks that a fault of a node affects its units and no others.
func TestANodeIsCutOffAndEnds(t *testing.T) {
	d, _ := deploy(t, onNodes(t))
	for _, u := range d.Units()[1:] {
		awaitListener(t, u.PID)
	}
	before := d.Units()[3]
	for _, kind := range []lab.FaultKind{lab.FaultCut, lab.FaultKill} {
		proof, err := d.Harm(deploytest.Within(t), lab.Fault{Target: "east", Kind: kind})
		if err != nil || proof == "" {
			t.Fatalf("%s: %q, %v", kind, proof, err)
		}
		if reached(t, d, "right") || !reached(t, d, "left") || !reached(t, d, "here") {
			t.Errorf("%s: the unit is reached, or others are not", kind)
		}
		if alive := syscall.Kill(before.PID, 0) == nil; alive != (kind == lab.FaultCut) {
			t.Errorf("%s: the unit lives: %t", kind, alive)
		}
		if err := d.Heal(deploytest.Within(t), lab.Fault{Target: "east", Kind: kind}); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if after := d.Units()[3]; !reached(t, d, "right") || (after.PID == before.PID) != (kind == lab.FaultCut) {
			t.Errorf("%s: unit %+v is healed, before %+v", kind, after, before)
		}
	}
	if err := d.Failure(); err != nil {
		t.Error(err)
	}
}

// TestNodesEndWithTheirConductor checks that no unit, network link or folder is left after a kill -9 of the
// conductor.
func TestNodesEndWithTheirConductor(t *testing.T) {
	dir := deploytest.Folder(t)
	conductor, units := startConductor(t, dir, onNodes(t))
	if len(linksOf(t, deploytest.Label(t))) == 0 {
		t.Error("no link carries the label")
	}
	testset.Must(t, conductor.Process.Kill())
	_ = conductor.Wait() // it says that the conductor was killed
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(dir)
		left := linksOf(t, deploytest.Label(t))
		if !anyAlive(units) && len(left) == 0 && errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("units live: %t, links %v, folder: %v", anyAlive(units), left, err)
		}
	}
}
