package docker

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// TestContainersThatCannotBeRemoved hold nobody up: they are counted, with the first
// reason and what to do, and the others are removed.
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
		<-r.Context().Done() // its shim is gone
	})
	client, err := engine.Open(t.Context())
	deploytest.Must(t, err)
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
	if said := fmt.Sprint(err); !strings.HasPrefix(said, want) ||
		!strings.Contains(said, "none was removed for 200ms): type: cleave clean") {
		t.Errorf("removeAll: %v, want %q and what to do", err, want)
	}
	if took := time.Since(begin); took > removePatience/2 {
		t.Errorf("it took %v", took)
	}
	if removed.Load() != 20 || most.Load() > atOnce {
		t.Errorf("%d were removed and up to %d at one time, want 20 and %d", removed.Load(), most.Load(), atOnce)
	}
}

// TestAPreflightEndsWithItsContext, whether Docker answers or not.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://"+deploytest.Silent(t))
	deploytest.GivesUp(t, New(Host, process.New("", nil, nil, ""), "", ""))
}

// TestNoDocker leaves nothing of a trial.
func TestNoDocker(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///no/such/socket")
	deploytest.CannotBegin(t, New(Host, process.New("", nil, nil, ""), "", ""))
}
