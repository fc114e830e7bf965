package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
)

// isMapped reports whether a container is called at another port than it listens on.
func isMapped(port lab.ContainerPort) bool { return port.Port != port.Target }

// MissingForPorts returns what this host lacks to map ports of containers; nil: nothing, or no unit needs it.
func MissingForPorts(units []lab.UnitSpec) error {
	if !slices.ContainsFunc(units, func(spec lab.UnitSpec) bool {
		return spec.Container != nil && slices.ContainsFunc(spec.Container.Ports, isMapped)
	}) {
		return nil
	}
	const what = "a container that is called at another port than it listens on"
	err := lab.MissingPrograms(what, map[string]string{"nsenter": "util-linux", "iptables": "iptables"})
	if os.Geteuid() != 0 {
		err = errors.Join(err, errors.New(what+" needs root: run as root"))
	}
	return err
}

// MapPorts redirects callers of a container to the ports that it listens on. pid is its first process as this
// host numbers it; a container that has ended is left alone.
func MapPorts(ctx context.Context, pid int, spec *lab.ContainerSpec) error {
	if spec == nil || pid == 0 {
		return nil
	}
	for _, port := range spec.Ports {
		if !isMapped(port) {
			continue
		}
		err := In(ctx, pid, "iptables", fmt.Sprintf("--wait --table nat --append PREROUTING --protocol tcp "+
			"--dport %d --jump REDIRECT --to-ports %d", port.Port, port.Target))
		if _, ended := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil && ended == nil {
			return fmt.Errorf("lead from port %d to %d: %w", port.Port, port.Target, err)
		}
	}
	return nil
}
