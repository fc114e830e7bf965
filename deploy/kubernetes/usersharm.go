package kubernetes

import (
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// withStarter has the starter be the first process of a pod of the user's cluster whose unit shall
// have faults. It is the same user as the unit, and has the environment that this gets.
func (p *pod) withStarter(runs *api.Container, files map[string][]byte) error {
	if p.starter == nil || p.Prepares {
		return nil
	}
	words, err := p.deployment.shared().Command(p.Spec)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(anyAddress, strconv.Itoa(starterPort))
	const key = "orders"
	files[key], err = containers.Packed(lab.StarterOrders{Run: words, Faults: p.starter.Orders(address)},
		maxSecret)
	runs.Command = []string{"/" + lab.StarterProgram, lab.StarterRuns}
	given := api.Mount{Name: "files", MountPath: lab.StarterOrdersFile, SubPath: key, ReadOnly: true}
	runs.VolumeMounts = append(runs.VolumeMounts, given)
	return err
}
