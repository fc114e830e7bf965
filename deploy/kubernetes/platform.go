package kubernetes

import "github.com/cleave-lab/cleave/lab"

var _ lab.Hosted = (*deployment)(nil)

// Platform implements lab.Hosted.
func (d *deployment) Platform() lab.PlatformCost { return d.deployer.made.Cost(d.Starts()) }

// Daemons implements lab.Hosted.
func (d *deployment) Daemons() ([]lab.Unit, string) {
	if d.cluster.private == nil {
		return nil, "the cluster is the user's, of whose nodes nothing is read"
	}
	return d.cluster.private.Units(), ""
}
