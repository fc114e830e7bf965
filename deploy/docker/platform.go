package docker

import (
	"os"

	"github.com/cleave-lab/cleave/lab"
)

var _ lab.Hosted = (*deployment)(nil)

// Platform implements lab.Hosted. The daemon was there.
func (d *deployment) Platform() lab.PlatformCost { return d.deployer.made.Cost(d.Starts()) }

// Daemons implements lab.Hosted. They are all of this host, those that keep somebody else's
// containers included: nothing says for whom a daemon works.
func (d *deployment) Daemons() ([]lab.Unit, string) {
	programs := lab.SpanPrograms("dockerd", "containerd", "containerd-shim", "docker-proxy", "runc")
	return []lab.Unit{{Name: "Docker", Role: "Docker", PID: os.Getpid(), Span: programs}}, ""
}
