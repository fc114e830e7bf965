package docker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/supervise"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// Inside a bridge network every unit has an address, and so the same ports.
	servicePort, controlPort, furtherPorts = 8080, 8081, 8082
	// firstAddress is the last number of the first unit's address; the bridge has .1.
	firstAddress = 10
	// mostOnBridge is how many units a network of 256 addresses holds.
	mostOnBridge = 254 - firstAddress
	// subnetsTried is how many ranges are tried, of which others may have some.
	subnetsTried = 16
)

// connect gives every container its addresses, and the trial its network.
func (d *deployment) connect(ctx context.Context, specs []lab.UnitSpec) error {
	d.control = map[string]string{}
	if d.deployer.network == Host {
		return d.reservePorts(specs)
	}
	if err := checkCount(len(specs)); err != nil {
		return err
	}
	prefix, err := d.makeNetwork(ctx)
	if err != nil {
		return err
	}
	for i, spec := range specs {
		host := prefix + strconv.Itoa(firstAddress+i)
		d.control[spec.Name] = net.JoinHostPort(host, strconv.Itoa(controlPort))
		if spec.Listens {
			d.listensAt(spec.Name, net.JoinHostPort(host, strconv.Itoa(servicePort)))
		}
		for n, port := range furtherOf(spec) {
			d.listensAt(supervise.PortOf(spec.Name, port), net.JoinHostPort(host, strconv.Itoa(furtherPorts+n)))
		}
	}
	return nil
}

// listensAt notes an address that a container listens on, the same seen from inside and
// from outside.
func (d *deployment) listensAt(name, address string) {
	d.endpoints[name] = lab.Endpoint{Bind: address, Dial: address}
}

// furtherOf are the names of the further ports of a server.
func furtherOf(spec lab.UnitSpec) []string {
	if spec.Server == nil {
		return nil
	}
	return spec.Server.Ports
}

func checkCount(units int) error {
	if units > mostOnBridge {
		return fmt.Errorf("%d units are too many for one bridge network, which holds %d: use docker-host", units, mostOnBridge)
	}
	return nil
}

// reservePorts finds loopback ports of this host: one for control, one for units that
// listen, and the further ones of servers.
func (d *deployment) reservePorts(specs []lab.UnitSpec) (err error) {
	needed := 2 * len(specs)
	for _, spec := range specs {
		needed += len(furtherOf(spec))
	}
	if d.ports, err = launch.ReservePorts(needed); err != nil {
		return err
	}
	free := d.ports.Numbers
	next := func() string {
		address := launch.Loopback(free[0])
		free = free[1:]
		return address
	}
	for _, spec := range specs {
		d.control[spec.Name] = next()
		if spec.Listens {
			d.listensAt(spec.Name, next())
		}
		for _, port := range furtherOf(spec) {
			d.listensAt(supervise.PortOf(spec.Name, port), next())
		}
	}
	return nil
}

// makeNetwork makes a bridge network of 256 addresses and returns what they begin
// with: "198.18.7.". It does not lead out of this host.
func (d *deployment) makeNetwork(ctx context.Context) (prefix string, err error) {
	first := fnv.New32a()
	_, _ = first.Write([]byte(d.name(""))) // never fails
	for n := range uint32(subnetsTried) {
		prefix = fmt.Sprintf("198.18.%d.", (first.Sum32()+n)%256)
		d.network, err = making(ctx, "network", "create", "--internal", "--label", leftovers.DockerLabel+"="+d.deployer.label,
			"--subnet", prefix+"0/24", d.name("network"))
		if err == nil {
			return prefix, nil
		}
		if !strings.Contains(err.Error(), "overlap") {
			break
		}
	}
	return "", errors.Join(errors.New("make a network for the trial"), err)
}
