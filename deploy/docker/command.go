package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// docker runs Docker's client and returns what it printed, without the last newline.
func docker(ctx context.Context, args ...string) (string, error) {
	text, err := output(exec.CommandContext(ctx, "docker", args...))
	return strings.TrimSpace(text), err
}

// output runs a command; the error has the command, to paste, and what it said.
func output(command *exec.Cmd) (string, error) {
	var said strings.Builder
	command.Stderr = &said
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(text), nil
}

// Missing says what this host lacks for containers; nil: nothing.
func Missing() error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("containers need Docker, which is not installed here: on Debian: apt-get install docker.io")
	}
	text, err := exec.Command("docker", "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err != nil {
		return fmt.Errorf("containers need Docker's daemon, which does not answer here (%s): start it, for example with: systemctl start docker",
			strings.TrimSpace(string(text)))
	}
	return nil
}
