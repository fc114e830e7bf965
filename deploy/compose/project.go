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
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// project runs the compose command on the compose file of a trial.
type project struct {
	tool  []string     // the compose command
	spec  lab.UnitSpec // of any service: all have the same file
	label string
	dir   string // of the trial
	begun bool   // the compose command may have made containers
}

// name returns the name of the project, which no other trial has.
func (p *project) name() string {
	return "cleave-" + p.label + "-" + strings.ToLower(filepath.Base(p.dir))
}

// up starts the containers.
func (p *project) up(ctx context.Context) error {
	processors, err := launch.Processors(p.spec.Cores)
	if err != nil {
		return err
	}
	extra, err := override(*p.spec.Compose, p.label, processors)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{"compose.yaml": p.spec.Compose.Text, "cleave.yaml": extra} {
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the compose file: %w", err)
		}
	}
	p.begun = true
	return p.run(ctx, upPatience, "up", "-d")
}

const (
	// upPatience bounds the start of the services, with the building and pulling of their images.
	upPatience = time.Hour
	// downPatience bounds the removal of a project whose containers have ended.
	downPatience = 2 * time.Minute
)

// down removes everything of the project and fails if anything is left. It takes longer for more containers.
func (p *project) down(containers int) error {
	if !p.begun {
		return nil
	}
	patience := downPatience + time.Duration(containers)*engine.StopGrace
	err := p.run(context.Background(), patience, "down", "--volumes", "--remove-orphans", "--timeout",
		fmt.Sprint(engine.StopGrace.Seconds()))
	left, findErr := leftovers.Docker(func(label string) bool { return label == p.label })
	err = errors.Join(err, findErr)
	for _, leftover := range left {
		err = errors.Join(err, fmt.Errorf("%s is still there; remove it with: cleave clean", leftover))
	}
	return err
}

// run runs the compose command on the project.
func (p *project) run(ctx context.Context, patience time.Duration, args ...string) error {
	words := slices.Concat(p.tool, []string{
		"-p", p.name(), "--project-directory", p.spec.Compose.Dir,
		"-f", filepath.Join(p.dir, "compose.yaml"), "-f", filepath.Join(p.dir, "cleave.yaml"),
	}, args)
	label := "CLEAVE_RUN=" + p.label // by which the sweeper ends the command if the conductor dies
	return run(ctx, patience, slices.Concat(environment(), p.spec.Env, []string{label}), words...)
}

// run runs a command of Docker's in an environment; nil: ours. Its error has the command and the end of its
// standard error.
func run(ctx context.Context, patience time.Duration, environment []string, words ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done after %v", patience))
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	output := &fleet.Tail{}
	command.Env = environment
	command.Stderr = output
	command.WaitDelay = time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to kill compose, too, a plugin and so a child
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err := command.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(output.String()))
	}
	return nil
}

// environment returns the variables of the conductor that the compose command gets:
// those for reaching Docker, and none that a compose file could read by accident.
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
