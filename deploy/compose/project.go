package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// project is the compose file as the compose command has it.
type project struct {
	tool     []string
	services []lab.UnitSpec // all of the same file, at least one
	label    string
	dir      string // of the trial
	begun    bool   // there may be something of it
}

// name is unlike that of any other trial.
func (p *project) name() string {
	return "cleave-" + p.label + "-" + strings.ToLower(filepath.Base(p.dir))
}

// up starts the containers.
func (p *project) up(ctx context.Context) error {
	described := p.services[0]
	extra, err := override(*described.Compose, p.label, described.Cores)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{"compose.yaml": described.Compose.Text, "cleave.yaml": extra} {
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the compose file: %w", err)
		}
	}
	p.begun = true
	return p.run(ctx, "up", "-d")
}

// down removes everything that the project made.
func (p *project) down() error {
	if !p.begun {
		return nil
	}
	err := p.run(context.Background(), "down", "--volumes", "--remove-orphans", "--timeout",
		fmt.Sprint(stopGrace.Seconds()))
	left, findErr := leftovers.Docker(func(label string) bool { return label == p.label })
	err = errors.Join(err, findErr)
	for _, leftover := range left {
		err = errors.Join(err, fmt.Errorf("%s is still there; remove it with: cleave clean", leftover))
	}
	return err
}

// run runs the compose command on the project. Its error has the command, to paste, and what
// it said.
func (p *project) run(ctx context.Context, args ...string) error {
	described := p.services[0]
	all := slices.Concat(p.tool[1:], []string{
		"-p", p.name(), "--project-directory", described.Compose.Dir,
		"-f", filepath.Join(p.dir, "compose.yaml"), "-f", filepath.Join(p.dir, "cleave.yaml"),
	}, args)
	command := exec.CommandContext(ctx, p.tool[0], all...)
	// it ends when we die
	command.Env = slices.Concat(environment(), described.Env, []string{"CLEAVE_RUN=" + p.label})
	var said strings.Builder
	command.Stderr = &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// environment is what the compose command gets of the conductor's environment:
// how Docker is reached, and nothing that a compose file could read by accident.
func environment() []string {
	var passed []string
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT",
		"DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"} {
		if value, set := os.LookupEnv(name); set {
			passed = append(passed, name+"="+value)
		}
	}
	return passed
}
