package docker

import (
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/lab"
)

var _ lab.Hosted = (*deployment)(nil)

// Platform implements lab.Hosted. The daemon was there.
func (d *deployment) Platform() lab.PlatformCost { return d.deployer.made.Cost(d.Starts()) }

// Daemons implements lab.Hosted.
func (d *deployment) Daemons() ([]lab.Unit, string) { return containers.Daemons() }
