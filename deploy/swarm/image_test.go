package swarm

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// TestImagesOfTheUsers runs the suites of foreign containers with an image of this host's Docker, which all
// nodes get; an image that Docker does not have is refused. The container listens at containers.ControlPort,
// which must not matter for a foreign unit.
func TestImagesOfTheUsers(t *testing.T) {
	d := deployer(t)
	dockertest.Start(t)
	const image = "cleave-users-test:1"
	boxed := deploytest.Foreign{Unit: func(part string) lab.UnitSpec {
		return lab.UnitSpec{
			Runnable:   lab.Runnable{Image: image, Args: []string{part, "{dir}", ":8080"}},
			Networking: lab.Networking{Port: containers.ControlPort, Listens: true},
		}
	}}
	absent := lab.Layout{Lead: "boxed", Units: []lab.UnitSpec{{
		Name:     "boxed",
		Runnable: lab.Runnable{Foreign: true, Image: image},
	}}}
	deploytest.Says(t, d.Preflight(t.Context(), absent), "type: docker pull "+image)
	dockertest.Image(t, image, deploytest.Program(t))
	left := func() []string { return inSwarm(t, d) }
	deploytest.ForeignSuite(t, d, boxed, left)
	t.Run("services of a file", func(t *testing.T) { deploytest.ServicesSuite(t, d, image, "/data", left) })
	t.Run("what it cannot give", func(t *testing.T) {
		deploytest.Says(t, d.Preflight(t.Context(), deploytest.Demanding(image)),
			"unit web has privileged, the processes of "+
				"this host (pid: host), the security option apparmor=x, /var/run/docker.sock of this host, which "+
				"Swarm cannot give it")
	})
}
