// Package compose deploys units that a compose file describes, with docker
// compose or docker-compose, whichever this host has. Units that are no
// containers, such as the load generator, go to another deployer beside them.
//
// Everything that it makes carries the label cleave.run and lies in networks of
// 198.18.0.0/15, a range for benchmarks that nobody routes (RFC 2544). What a
// killed conductor leaves behind, package leftovers finds by that label.
//
// Entry points: New, Deployer.Deploy.
package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts containers by a compose file.
type Deployer struct {
	others lab.Deployer // for units that are no containers
	label  string
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer that hands what is no container to others. label marks
// everything that is made.
func New(others lab.Deployer, label string) *Deployer {
	return &Deployer{others: others, label: label}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return "compose" }

// Faults implements lab.Deployer: none yet.
func (d *Deployer) Faults() []lab.FaultKind { return nil }

// Preflight implements lab.Deployer: it says what is missing for containers.
func (d *Deployer) Preflight(layout lab.Layout) error {
	_, rest := part(layout)
	_, err := findTool()
	return errors.Join(err, d.others.Preflight(rest))
}

// part splits a layout into what the compose file describes and the rest.
func part(layout lab.Layout) (containers []lab.UnitSpec, rest lab.Layout) {
	rest = layout
	rest.Units = nil
	for _, spec := range layout.Units {
		if spec.Compose != nil {
			containers = append(containers, spec)
		} else {
			rest.Units = append(rest.Units, spec)
		}
	}
	return containers, rest
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	tool, err := findTool()
	if err != nil {
		return nil, err
	}
	containers, rest := part(layout)
	running := &deployment{failures: make(chan error, 1)}
	running.watching, running.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	for _, spec := range containers {
		p := &project{tool: tool, spec: spec, label: d.label, dir: dir}
		running.projects = append(running.projects, p)
		if err := p.up(ctx); err != nil {
			return nil, errors.Join(err, running.down())
		}
	}
	running.Deployment, err = d.others.Deploy(ctx, rest, dir)
	if err != nil {
		return nil, errors.Join(err, running.down())
	}
	for _, p := range running.projects {
		running.watch(p)
	}
	return running, nil
}

// deployment is a running layout; what is no container is the embedded one.
type deployment struct {
	lab.Deployment
	projects []*project
	failures chan error // the first container that failed
	watching context.Context
	unwatch  context.CancelFunc
	watchers sync.WaitGroup
	downOnce sync.Once
	downErr  error
}

// Units implements lab.Deployment: a unit for every container.
func (d *deployment) Units() []lab.Unit {
	var units []lab.Unit
	for _, p := range d.projects {
		units = append(units, p.units...)
	}
	return append(units, d.Deployment.Units()...)
}

// Await implements lab.Deployment.
func (d *deployment) Await(ctx context.Context, kind lab.EventKind) (lab.Event, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case err := <-d.failures:
			d.failures <- err // for Reports
			cancel(err)
		case <-done:
		}
	}()
	return d.Deployment.Await(ctx, kind)
}

// Reports implements lab.Deployment.
func (d *deployment) Reports(ctx context.Context) ([]lab.UnitReport, error) {
	reports, err := d.Deployment.Reports(ctx)
	select {
	case failed := <-d.failures:
		err = errors.Join(err, failed)
	default:
	}
	return reports, err
}

// Logs implements lab.Deployment.
func (d *deployment) Logs() map[string]string {
	logs := d.Deployment.Logs()
	for _, p := range d.projects {
		maps.Copy(logs, p.logs)
	}
	return logs
}

// Stop implements lab.Deployment. The containers go first: the other deployer
// removes the directory.
func (d *deployment) Stop() error {
	return errors.Join(d.down(), d.Deployment.Stop())
}

// down removes the containers.
func (d *deployment) down() error {
	d.downOnce.Do(func() {
		d.unwatch()
		d.watchers.Wait()
		for _, p := range d.projects {
			d.downErr = errors.Join(d.downErr, p.down())
		}
	})
	return d.downErr
}

// watch notes when a container of the project ends with an error. One that ends
// well may have been there to prepare something.
func (d *deployment) watch(p *project) {
	for _, unit := range p.units {
		d.watchers.Go(func() {
			id := p.ids[unit.Name]
			code, err := exec.CommandContext(d.watching, "docker", "wait", id).Output()
			if d.watching.Err() != nil || err == nil && strings.TrimSpace(string(code)) == "0" {
				return
			}
			failed := fmt.Errorf("container %s ended with exit status %s", unit.Name, strings.TrimSpace(string(code)))
			if err != nil {
				failed = fmt.Errorf("watch container %s: %w", unit.Name, err)
			}
			select {
			case d.failures <- failed:
			default:
			}
		})
	}
}

// Missing says what this host lacks for compose files; nil: nothing.
func Missing() error {
	_, err := findTool()
	return err
}

// findTool finds the compose command, and a Docker daemon behind it.
func findTool() ([]string, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, errors.New("a compose file needs Docker, which is not installed here: on Debian: apt-get install docker.io docker-compose")
	}
	if text, err := exec.Command("docker", "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("a compose file needs Docker's daemon, which does not answer here (%s): start it, for example with: systemctl start docker",
			strings.TrimSpace(string(text)))
	}
	if exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if path, err := exec.LookPath("docker-compose"); err == nil {
		return []string{path}, nil
	}
	return nil, errors.New("a compose file needs docker compose, which is not installed here: on Debian: apt-get install docker-compose")
}

// project is one compose file that is up.
type project struct {
	tool  []string
	spec  lab.UnitSpec
	label string
	dir   string

	units []lab.Unit
	ids   map[string]string // of containers, by unit
	logs  map[string]string
}

// name is unlike that of any other trial.
func (p *project) name() string {
	return "cleave-" + p.label + "-" + strings.ToLower(filepath.Base(p.dir)) + "-" + p.spec.Name
}

// up starts the containers and finds out which they are.
func (p *project) up(ctx context.Context) error {
	extra, err := override(*p.spec.Compose, p.label, p.spec.Cores)
	if err != nil {
		return err
	}
	for file, text := range map[string]string{"compose.yaml": p.spec.Compose.Text, "cleave.yaml": extra} {
		if err := os.WriteFile(p.file(file), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the compose file: %w", err)
		}
	}
	if _, err := p.run(ctx, "up", "-d"); err != nil {
		return err
	}
	return p.find(ctx)
}

func (p *project) file(name string) string { return filepath.Join(p.dir, p.spec.Name+"-"+name) }

// run runs the compose command on the project.
func (p *project) run(ctx context.Context, args ...string) (string, error) {
	all := slices.Concat(p.tool[1:], []string{
		"-p", p.name(), "--project-directory", p.spec.Compose.Dir, "-f", p.file("compose.yaml"), "-f", p.file("cleave.yaml"),
	}, args)
	command := exec.CommandContext(ctx, p.tool[0], all...)
	command.Env = slices.Concat(environment(), p.spec.Env, []string{"CLEAVE_RUN=" + p.label}) // it ends when we die
	return output(command)
}

// environment is what the compose command gets of the conductor's environment:
// how Docker is reached, and nothing that a compose file could read by accident.
func environment() []string {
	var passed []string
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"} {
		if value, set := os.LookupEnv(name); set {
			passed = append(passed, name+"="+value)
		}
	}
	return passed
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

// find lists the containers of the project with their processes.
func (p *project) find(ctx context.Context) error {
	list, err := output(exec.CommandContext(ctx, "docker", "ps", "-aq", "--no-trunc", "--filter", "label=com.docker.compose.project="+p.name()))
	if err != nil {
		return err
	}
	p.ids = map[string]string{}
	for id := range strings.FieldsSeq(list) {
		text, err := output(exec.CommandContext(ctx, "docker", "inspect", "--format",
			`{{.State.Pid}} {{index .Config.Labels "com.docker.compose.service"}} {{.State.Status}} {{.State.ExitCode}}`, id))
		if err != nil {
			return err
		}
		var unit lab.Unit
		var state string
		var code int
		if _, err := fmt.Sscan(text, &unit.PID, &unit.Name, &state, &code); err != nil {
			return fmt.Errorf("container %s: docker inspect says %q: %w", id, text, err)
		}
		for n := 2; p.ids[unit.Name] != ""; n++ { // a service of several containers
			unit.Name = fmt.Sprintf("%s-%d", strings.TrimRight(strings.TrimRight(unit.Name, "0123456789"), "-"), n)
		}
		p.ids[unit.Name] = id
		unit.Role, unit.Span = p.spec.Role, lab.SpanContainer
		switch {
		case state == "running":
			p.units = append(p.units, unit)
		case code != 0:
			return fmt.Errorf("container %s ended with exit status %d as soon as it was started%s", unit.Name, code, lastWords(id))
		}
	}
	if len(p.units) == 0 {
		return fmt.Errorf("no container of the compose file runs")
	}
	return nil
}

// shownLines is how many lines of a container's log an error repeats, keptLines
// how many are kept.
const shownLines, keptLines = "5", "500"

func lastWords(id string) string {
	text, err := exec.Command("docker", "logs", "--tail", shownLines, id).CombinedOutput()
	if err != nil || len(text) == 0 {
		return ""
	}
	return "; its last words:\n  " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ")
}

// down keeps the logs and removes everything that the project made.
func (p *project) down() error {
	p.logs = map[string]string{}
	for name, id := range p.ids {
		if text, err := exec.Command("docker", "logs", "--tail", keptLines, id).CombinedOutput(); err == nil && len(text) > 0 {
			p.logs[name] = string(text)
		}
	}
	_, err := p.run(context.Background(), "down", "--volumes", "--remove-orphans", "--timeout", "10")
	left, findErr := leftovers.Docker(func(label string) bool { return label == p.label })
	err = errors.Join(err, findErr)
	for _, leftover := range left {
		err = errors.Join(err, fmt.Errorf("%s is still there; remove it with: cleave clean", leftover))
	}
	return err
}
