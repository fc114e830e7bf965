package kubernetes

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// TestImagesOfTheUsers runs the suites of foreign containers with an image of this host's Docker, which all
// nodes get; an image that Docker does not have, or that is named by a digest, is refused.
func TestImagesOfTheUsers(t *testing.T) {
	d, _ := newDeployer(t)
	dockertest.Start(t)
	const image = "cleave-users-test:1"
	boxed := deploytest.Foreign{Unit: func(part string) lab.UnitSpec {
		return lab.UnitSpec{
			Runnable:   lab.Runnable{Image: image, Args: []string{part, "{dir}", ":80"}},
			Networking: lab.Networking{Port: 80, Listens: true},
		}
	}}
	layout := lab.Layout{Lead: "boxed", Units: []lab.UnitSpec{{
		Name:     "boxed",
		Runnable: lab.Runnable{Foreign: true, Image: image},
	}}}
	deploytest.Says(t, d.Preflight(t.Context(), layout), "type: docker pull "+image)
	layout.Units[0].Image = "nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	deploytest.Says(t, d.Preflight(t.Context(), layout), "type: docker tag nginx@sha256")
	dockertest.Image(t, image, deploytest.Program(t))
	left := func() []string { return inCluster(t, d) }
	deploytest.ForeignSuite(t, d, boxed, left)
	t.Run("services of a file", func(t *testing.T) { deploytest.ServicesSuite(t, d, image, "/data", left) })
	t.Run("what it cannot give", func(t *testing.T) {
		demanding := deploytest.Demanding(image)
		demanding.Units[0].Container.User = "web"
		deploytest.Says(t, d.Preflight(t.Context(), demanding),
			"unit web has the user web (give its number), privileged, the "+
				"processes of this host (pid: host), the security option apparmor=x, /var/run/docker.sock of this host, "+
				"which Kubernetes cannot give it")
	})
}
