package docker

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestAnImageOfTheUsers checks that a user's image runs as a container of its own, at its fixed port, and
// that one which Docker does not have is refused.
func TestAnImageOfTheUsers(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-users-test:1"
	boxed := lab.UnitSpec{
		Name: "boxed", Role: "system",
		Runnable: lab.Runnable{
			Foreign: true, Image: image, Args: []string{"shelf", "{dir}"},
			Files: map[string][]byte{"goods": []byte("at port {port}")},
		},
		Networking: lab.Networking{Listens: true, Port: 80},
	}
	var answer []byte
	boxed.Ready = func(_ context.Context, address string) error {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer func() { _ = connection.Close() }()
		answer, err = io.ReadAll(connection)
		return err
	}
	layout := deploytest.Layout()
	layout.Units = append(layout.Units, boxed)
	d := newDeployer(t, Bridge, program)
	deploytest.Says(t, d.Preflight(t.Context(), layout), "type: docker pull "+image)
	dockertest.Image(t, image, program)
	t.Run("in the network of this host", func(t *testing.T) {
		deploytest.Says(t, newDeployer(t, Host, program).Preflight(t.Context(), layout),
			"port 80 of all addresses")
	})
	testset.Must(t, d.Preflight(t.Context(), layout))
	running, err := d.Deploy(t.Context(), layout, t.TempDir())
	testset.Must(t, err)
	endpoint, err := running.Endpoint("boxed")
	if err != nil || !strings.HasSuffix(endpoint.Dial, ":80") || strings.HasPrefix(endpoint.Dial, "127.") {
		t.Errorf("endpoint %+v, %v, want port 80 of an address of its own", endpoint, err)
	}
	if string(answer) != "at port 80, may write" {
		t.Errorf("it says %q", answer)
	}
	if unit := running.Units()[1]; unit.Name != "boxed" || unit.Span != lab.SpanContainer || unit.PID == 0 {
		t.Errorf("unit %+v", unit)
	}
	deploytest.NoError(t, running.Stop())
}

// TestForeignSuite runs the suite for foreign units with containers of a user's image: on a bridge at the
// port of the image, in the network of this host at a port that Cleave chooses.
func TestForeignSuite(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-users-test:2"
	dockertest.Image(t, image, program)
	for network, listens := range map[Network]lab.UnitSpec{
		Bridge: {
			Runnable:   lab.Runnable{Args: []string{"{dir}", ":80"}},
			Networking: lab.Networking{Port: 80},
		}, Host: {
			Runnable: lab.Runnable{Args: []string{"{dir}", "127.0.0.1:{port}"}},
		},
	} {
		t.Run(string(network), func(t *testing.T) {
			boxed := deploytest.Foreign{Unit: func(part string) lab.UnitSpec {
				spec := listens
				spec.Image = image
				spec.Listens = true
				spec.Args = append([]string{part}, listens.Args...)
				return spec
			}}
			deploytest.ForeignSuite(t, newDeployer(t, network, program), boxed,
				func() []string { return objects(t, "container", "network", "volume") })
		})
	}
}

// TestFixedPortsNeedANetworkOfTheirOwn: an image on a node, or in a bridge network, has one.
func TestFixedPortsNeedANetworkOfTheirOwn(t *testing.T) {
	boxed := lab.UnitSpec{Name: "boxed", Networking: lab.Networking{Port: 80}}
	deploytest.Says(t, (&Deployer{network: Host}).checkPorts([]lab.UnitSpec{boxed}), "port 80 of all addresses")
	testset.Must(t, (&Deployer{network: Bridge}).checkPorts([]lab.UnitSpec{boxed}))
	boxed.Node = "far"
	testset.Must(t, (&Deployer{network: Host}).checkPorts([]lab.UnitSpec{boxed}))
}
