package containers

import (
	"os"

	"github.com/cleave-lab/cleave/lab"
)

// Daemons returns the processes of this host's Docker. They are all of this host,
// those that keep somebody else's containers included: nothing says for whom a daemon works.
func Daemons() ([]lab.Unit, string) {
	programs := lab.SpanPrograms("dockerd", "containerd", "containerd-shim", "docker-proxy", "runc")
	return []lab.Unit{{Name: "Docker", Role: "Docker", PID: os.Getpid(), Span: programs}}, ""
}
