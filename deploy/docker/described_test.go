package docker

import (
	"net"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestServicesOfAComposeFile runs the suite for described units. Their next life has the same container.
func TestServicesOfAComposeFile(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-services-test:1"
	dockertest.Image(t, image, program)
	deploytest.ServicesSuite(t, newDeployer(t, Bridge, program), image, "/", func() []string {
		return objects(t, "container", "network", "volume")
	})
}

// TestServicesThatAreNotUsable checks that they fail the trial at its start, with their output.
func TestServicesThatAreNotUsable(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-services-test:2"
	dockertest.Image(t, image, program)
	for name, c := range map[string]struct {
		change func(db, fill *lab.UnitSpec)
		says   []string
	}{
		"unhealthy": {func(db, _ *lab.UnitSpec) {
			db.Container.Health = &lab.HealthCheck{Test: []string{"CMD", "/program", "die"}, Interval: 0.1, Retries: 1}
		}, []string{"unit db (" + image + ") is unhealthy: ", "out of luck"}},
		"no check": {func(db, _ *lab.UnitSpec) { db.Container.Health = nil }, []string{"has no health check"}},
		// The error is that of an end, or of a restart that goes on.
		"fails": {func(_, fill *lab.UnitSpec) { fill.Container.Command = []string{"die"} },
			[]string{"unit fill (" + image + ")", "its last words", "out of luck"}},
	} {
		t.Run(name, func(t *testing.T) {
			layout := deploytest.Services(image, "/")
			c.change(&layout.Units[3], &layout.Units[2])
			_, err := newDeployer(t, Bridge, program).Deploy(t.Context(), layout, t.TempDir())
			deploytest.Says(t, err, c.says...)
			if left := objects(t, "container", "network", "volume"); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// TestHealthInTheNetworkOfThisHost checks that the port of a health check is called on loopback there.
func TestHealthInTheNetworkOfThisHost(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = listener.Close() }()
	spec := lab.UnitSpec{Name: "web", Runnable: lab.Runnable{Container: &lab.ContainerSpec{
		Health: &lab.HealthCheck{Port: listener.Addr().(*net.TCPAddr).Port}}}}
	d := &deployment{deployer: &Deployer{network: Host}}
	deploytest.NoError(t, d.newContainer(spec).awaitHealthy(t.Context()))
}
