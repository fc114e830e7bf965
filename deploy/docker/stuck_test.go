package docker

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestContainersThatCannotBeRemoved checks that all other containers are removed, and that
// the error counts them and says what to do.
func TestContainersThatCannotBeRemoved(t *testing.T) {
	var removed, atOneTime, most atomic.Int32
	dockertest.Fake(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			return
		}
		most.Store(max(most.Load(), atOneTime.Add(1)))
		defer atOneTime.Add(-1)
		if strings.HasSuffix(r.URL.Path, "-good") {
			removed.Add(1)
			return
		}
		<-r.Context().Done() // as if its shim were gone
	})
	client, err := engine.Open(t.Context())
	testset.Must(t, err)
	var layout lab.Layout
	for n := range 40 {
		name := fmt.Sprintf("%d-good", n)
		if n >= 20 {
			name = fmt.Sprint(n)
		}
		layout.Units = append(layout.Units, lab.UnitSpec{Name: name})
	}
	d := &deployment{deployer: &Deployer{}, engine: client}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(layout, ""), "", d.platform(layout))
	for _, spec := range layout.Units {
		c := d.newContainer(spec)
		c.Container = spec.Name
		d.Add(c)
	}
	begin := time.Now()
	err = d.removeAll(200 * time.Millisecond)
	want := "20 of 40 containers could not be removed (remove the container "
	if text := fmt.Sprint(err); !strings.HasPrefix(text, want) ||
		!strings.Contains(text, "none was removed for 200ms): type: cleave clean") {
		t.Errorf("removeAll: %v, want %q and what to do", err, want)
	}
	if took := time.Since(begin); took > removePatience/2 {
		t.Errorf("it took %v", took)
	}
	if removed.Load() != 20 || most.Load() > atOnce {
		t.Errorf("%d were removed and up to %d at one time, want 20 and %d", removed.Load(), most.Load(), atOnce)
	}
}

// TestAStartThatFailsHasEnded checks that a life whose container cannot be made has ended, so that no
// caller waits for its end.
func TestAStartThatFailsHasEnded(t *testing.T) {
	dockertest.Fake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	client, err := engine.Open(t.Context())
	testset.Must(t, err)
	spec := lab.UnitSpec{Name: "front", Runnable: lab.Runnable{Foreign: true, Image: "web"}}
	layout := lab.Layout{Units: []lab.UnitSpec{spec}}
	dir := t.TempDir()
	d := &deployment{deployer: New(Host, process.New("", nil, nil, ""), "", ""), engine: client, dir: dir}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(layout, ""), dir, d.platform(layout))
	c := d.newContainer(spec)
	deploytest.Says(t, c.Start(t.Context()), "make the container")
	if !c.HasEnded() {
		t.Error("a start has failed, and the life has not ended")
	}
}

// TestAPreflightEndsWithItsContext checks that Preflight ends with its context if Docker does not answer.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://"+deploytest.Silent(t))
	deploytest.GivesUp(t, New(Host, process.New("", nil, nil, ""), "", ""))
}

// TestNoDocker checks that a deployment without Docker fails and leaves no folder.
func TestNoDocker(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///no/such/socket")
	deploytest.CannotBegin(t, New(Host, process.New("", nil, nil, ""), "", ""))
}

// TestAProcessOfAnotherUserExists checks that a process to which this user may not signal is not taken for
// ended. A thread that is another user asks.
func TestAProcessOfAnotherUserExists(t *testing.T) {
	found := make(chan bool)
	go func() {
		runtime.LockOSThread() // it stays locked, so that the thread ends with its user
		const nobody = containers.Nobody
		_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody) // fails if this is not root
		found <- exists(1)
	}()
	if !<-found {
		t.Error("process 1 does not exist for a user who may not signal to it")
	}
}

// TestHoldersOfNodesHaveNamesOfTheirOwn checks that no unit's container has the name of the one that holds
// the address of a node.
func TestHoldersOfNodesHaveNamesOfTheirOwn(t *testing.T) {
	d := &deployment{deployer: &Deployer{label: "1-2-3"}, dir: "/trial"}
	for _, unit := range []string{"a", "node-a", ".node-a", "-node-a", "_node-a"} {
		if d.name(unit) == d.holderName("a") {
			t.Errorf("unit %s and the node a have the name %s", unit, d.name(unit))
		}
	}
}
