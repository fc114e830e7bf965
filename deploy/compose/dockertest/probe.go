package dockertest

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	// probeName is the name of the probe's image and of its network.
	probeName = "cleave-dockertest"
	// emptyArchive is the number of zero bytes that are an empty tar archive.
	emptyArchive = 1024
)

// runContainer checks that the daemon can run a container: it runs docker-init, the only program that every
// daemon has, in an otherwise empty container with a network of its own.
func (d *Daemon) runContainer() error {
	path := filepath.Join(d.dir, "empty.tar")
	if err := os.WriteFile(path, make([]byte, emptyArchive), 0o600); err != nil {
		return err
	}
	subnet := fmt.Sprintf("198.18.%d.0/24", d.pid%256) // other tests probe at the same time, with another pid
	for _, args := range [][]string{
		{"import", path, probeName},
		{"network", "create", "--subnet", subnet, probeName},
		{"run", "--rm", "--init", "--network", probeName, "--entrypoint", "/sbin/docker-init", probeName,
			"--version"},
		{"network", "rm", probeName},
		{"rmi", probeName},
	} {
		if _, err := docker(d.host, args...); err != nil {
			return err
		}
	}
	return nil
}
