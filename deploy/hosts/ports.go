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

// isMapped reports whether the port at which a container is called is not the one that it listens on.
func isMapped(port lab.ContainerPort) bool { return port.Port != port.Target }

// MissingForPorts returns an error that names what this host lacks to map ports of containers, or nil if it
// lacks nothing or no unit has a mapped port.
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

// MapPorts redirects calls of a container's mapped ports to the ports that it listens on. pid is the process
// ID, on this host, of its first process; 0 if it has ended. It is no error if the container ends meanwhile.
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
			return fmt.Errorf("redirect port %d to %d: %w", port.Port, port.Target, err)
		}
	}
	return nil
}
