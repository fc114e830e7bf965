package swarm

import (
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// host returns the host of the node which a node of the layout is.
func (d *deployment) host(name string) *hosts.Host { return d.cluster.Named(d.places[name]).Host }

// inOverlay returns the address of a unit in the overlay network, where it listens at a port.
func inOverlay(unit string, port int) string { return net.JoinHostPort(unit, strconv.Itoa(port)) }

// trialOf returns the trial as a unit sees it.
func (d *deployment) trialOf(spec lab.UnitSpec) containers.Trial {
	seen := d.trial
	seen.Endpoints = d.Wanted.SeenBy(spec, seen.Endpoints,
		func(unit string) string { return inOverlay(unit, d.ports[unit].inside[1]) })
	return seen
}
