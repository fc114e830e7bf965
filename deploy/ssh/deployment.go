package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*unit]
	deployer *Deployer
	dir      string
	hosts    []*host
	places   map[string]int // indices of hosts, by unit
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	const isRemote = false // the load generator and other helpers of the trial stay on this host
	parts := containers.Parts(layout, isRemote)
	running := &deployment{deployer: d, dir: dir}
	if err := running.prepare(ctx, parts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running.Fleet = fleet.New(ctx, fleet.NewSupervisor(layout, fleet.HandedOver(dir)), dir, running.platform())
	open := func() error { return running.open(ctx, parts.Units) }
	if err := running.Launch(ctx, parts, open, d.processes, running.Endpoints); err != nil {
		return nil, err // Launch has stopped all that it had started, and removed dir
	}
	return running, nil
}

// prepare connects to the hosts of the units and sends them the unit programs.
func (d *deployment) prepare(ctx context.Context, parts fleet.Parts) (err error) {
	if err := d.deployer.Admit(ctx); err != nil {
		return err
	}
	if d.places, err = place(parts.OnPlatform(), len(d.deployer.names)); err != nil {
		return err
	}
	if d.hosts, err = d.deployer.connected(ctx); err != nil {
		return err
	}
	if err := d.checkUnprotected(parts.Units); err != nil {
		return err
	}
	return d.deployer.sendAll(ctx, d.hosts, parts.OnPlatform())
}

// checkUnprotected returns an error for servers at public addresses that let everybody log in when they
// start.
func (d *deployment) checkUnprotected(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		h := d.hosts[d.places[spec.Name]]
		opensFirst := spec.Server != nil && spec.Server.OpensFirst
		if opensFirst && isPublic(h.address) {
			problems = append(problems, &lab.Incapable{Why: fmt.Sprintf("%s (%s) lets everybody log in for a moment "+
				"when it starts, and host %s is called at the public address %s: call it at a private one (HostName in "+
				"the configuration of ssh), or choose another server (--backing)", spec.Name, spec.Server.Kind, h.name,
				h.address)})
		}
	}
	return errors.Join(problems...)
}

// isPublic reports whether an address may be called from anywhere: it is in no range for private networks
// (RFC 1918, 4193, 6598), links, loopback or benchmarks (RFC 2544). A text that is no address counts as
// public.
func isPublic(text string) bool {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return true
	}
	address = address.Unmap()
	if address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return false
	}
	for _, inside := range []string{"100.64.0.0/10", "198.18.0.0/15"} {
		if netip.MustParsePrefix(inside).Contains(address) {
			return false
		}
	}
	return true
}

// sendAll sends the unit programs that the units run to all hosts.
func (d *Deployer) sendAll(ctx context.Context, hosts []*host, specs []lab.UnitSpec) error {
	var programs []string
	for _, spec := range specs {
		program := containers.UnitProgram(d.programs, spec)
		if program != "" && !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
	}
	for _, program := range programs {
		if err := d.send(ctx, program, hosts); err != nil {
			return err
		}
	}
	return nil
}

// open begins the trial on all hosts: each reserves the ports of its units, and then gets the addresses of
// all units.
func (d *deployment) open(ctx context.Context, specs []lab.UnitSpec) error {
	listeners := make([][]string, len(d.hosts)) // by host: names of endpoints
	for _, spec := range specs {
		at := d.places[spec.Name]
		listeners[at] = append(listeners[at], spec.Endpoints()...)
	}
	for i, h := range d.hosts {
		trial := agent.Trial{Name: filepath.Base(d.dir), Ports: len(listeners[i])}
		ports, err := call[[]int](ctx, h, "Open", trial)
		if err == nil && len(ports) != trial.Ports {
			err = fmt.Errorf("its agent has reserved %d ports, expected %d", len(ports), trial.Ports)
		}
		if err != nil {
			return fmt.Errorf("begin the trial on host %s: %w", h.name, err)
		}
		for n, name := range listeners[i] {
			address := net.JoinHostPort(h.address, strconv.Itoa(ports[n]))
			d.Endpoints[name] = lab.Endpoint{Bind: address, Dial: address}
		}
	}
	for _, h := range d.hosts {
		if err := h.do(ctx, "SetEndpoints", d.Endpoints); err != nil {
			return fmt.Errorf("begin the trial on host %s: %w", h.name, err)
		}
	}
	return nil
}

// atOnce is the number of units that are started at the same time.
const atOnce = 16

// platform returns the operations and capabilities of hosts for units.
func (d *deployment) platform() fleet.Platform[*unit] {
	return fleet.Platform[*unit]{
		Name: d.deployer.Name(), Faults: d.deployer.Can().Faults, AtOnce: atOnce, Keepers: true,
		New: d.newUnit, Reach: d.reach, Clear: d.clear,
		NodeOf:    func(u *unit) string { return u.host.name },
		OwnClocks: true, Made: &d.deployer.made, // the agents, and copies of the unit programs
		Daemons: func() ([]lab.Unit, string) {
			return nil, "what sshd and the agents use on their hosts is not metered"
		},
	}
}

// reach returns the address at which this host reaches a unit.
func (d *deployment) reach(unit string) string { return d.Endpoints[unit].Dial }

// clear ends the trial on all hosts and waits until all units have ended. A host that is lost ends its units
// by itself.
func (d *deployment) clear() error {
	err := fleet.ForAll(context.Background(), len(d.hosts), d.hosts, func(ctx context.Context, h *host) error {
		err := h.do(ctx, "Stop", agent.None{})
		if err != nil {
			err = fmt.Errorf("end the trial on host %s: %w", h.name, err)
			h.end() // then the agent cleans up, and the waits for its units end
		}
		return err
	})
	late := time.After(leavePatience)
	for _, u := range d.Everything() {
		select {
		case <-u.Ended:
		case <-late:
			return errors.Join(err, fmt.Errorf("host %s does not say within %v that unit %s has ended: look there "+
				"for what is left", u.host.name, leavePatience, u.Spec.Name))
		}
	}
	return err
}
