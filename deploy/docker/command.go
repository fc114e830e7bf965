package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// docker runs Docker's client and returns what it printed, without the last newline.
func docker(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "docker", args...)
	// An interruption is for us: we end what must be ended.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	text, err := output(command)
	return strings.TrimSpace(text), err
}

// makePatience is how long the daemon may take to make something.
const makePatience = time.Minute

// making is docker for what makes something. It is not given up in between, or nobody
// would know what the daemon has made.
func making(ctx context.Context, args ...string) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makePatience)
	defer cancel()
	return docker(ctx, args...)
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
