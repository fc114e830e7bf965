package containers

import (
	"os"

	"github.com/cleave-lab/cleave/lab"
)

// Daemons returns the processes of this host's Docker, and never a reason why there are none. Those that
// serve containers of others are included: a daemon's usage cannot be divided by container.
func Daemons() ([]lab.Unit, string) {
	// The span selects programs of the host that has the process, this one.
	programs := lab.SpanPrograms("dockerd", "containerd", "containerd-shim", "docker-proxy", "runc")
	return []lab.Unit{{Name: "Docker", Role: "Docker", PID: os.Getpid(), Span: programs}}, ""
}
