package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/named"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/deploy/compose"
	"github.com/cleave-lab/cleave/deploy/docker"
	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/external"
)

// app holds what the commands share: the streams for the user's answers, for results and for
// messages, and the secrets that must not be in the output.
type app struct {
	in      io.Reader
	out     io.Writer
	errOut  io.Writer
	secrets *secret.Vault
}

// note prints a note to standard error.
func (a app) note(format string, args ...any) { fmt.Fprintf(a.errOut, "note: "+format+"\n", args...) }

// warn prints a warning to standard error.
func (a app) warn(format string, args ...any) {
	fmt.Fprintf(a.errOut, "warning: "+format+"\n", args...)
}

// spansVariable is the environment variable with the folder for the spans of all trials (docs/tracing.md).
const spansVariable = "CLEAVE_SPANS"

// backings returns the backing services that this program can provide. Servers that the
// user names replace private ones.
func backings(scratch string) (map[string]lab.Backing, error) {
	all := map[string]lab.Backing{sqlite.Kind: sqlite.New(), cache.Memory: cache.Embedded()}
	for _, b := range server.Backings(scratch) {
		all[b.Kind] = b
	}
	servers, err := namedServers()
	for kind, b := range servers {
		all[kind] = b.Backing
	}
	return all, err
}

// namedServers returns the servers that the user names, by the kinds that they replace. It returns the valid
// ones even with an error, so that doctor shows them and clean reaches them.
func namedServers() (map[string]named.Backing, error) { return fromEnvironment(named.FromEnvironment) }

// systemOf returns the system of a plan: one of Cleave's, or external.System for the systems of the user.
// spans is the folder for the spans of all trials; empty: they are not kept.
func systemOf(plan lab.Plan, secrets *secret.Vault, spans string) (lab.System, error) {
	c := systemSettings{spans: spans, model: plan.Study.Model}
	if plan.Study.Load != nil {
		generator, err := newGenerator(plan.Study.Load.Objective)
		if err != nil {
			return nil, withCode(exitBadPlan, "the load of %s: %w", plan.Study.Name, err)
		}
		generator.secrets = secrets
		generator.maxSteal = plan.Study.Design.Gates.MaxStealShare
		c.generator = generator
		c.load = *plan.Study.Load
	}
	system, ours := systemNamed[lab.System](plan.Study.System, c)
	if !ours {
		label, _ := launch.Own() // app.conductor returns this error, too, and nothing is played
		system = external.System{Generator: c.generator, Load: c.load, Secrets: secrets,
			Faults: len(plan.Study.Faults) > 0, Label: label.String()}
	}
	// A system with metrics of its own needs a load. Other systems have the metrics of jobs (lab.JobMetrics).
	if plan.Study.Load == nil && len(system.Describe().Metrics) > 0 {
		return nil, withCode(exitBadPlan, "the plan of %s has no load: give the study the key \"load\"",
			plan.Study.Name)
	}
	return system, nil
}

// systemNamed returns the system with this name if it implements T.
func systemNamed[T lab.System](name string, c systemSettings) (T, bool) {
	for _, system := range systems(c) {
		if found, can := system.(T); can && system.Describe().Name == name {
			return found, true
		}
	}
	var none T
	return none, false
}

// systemsThat returns the names of the systems that implement T.
func systemsThat[T lab.System]() []string {
	var names []string
	for _, system := range systems(systemSettings{}) {
		if _, can := system.(T); can {
			names = append(names, system.Describe().Name)
		}
	}
	return names
}

// systemFor returns the system with this name, or if name is a model file, the system that plays it. what
// completes the message "there is no system NAME to be ...", such as "checked" or "explained". The error
// names the systems that implement T.
func systemFor[T lab.System](name, what string) (T, error) {
	if text, is := modelText(name); is {
		return modelSystem[T](name, text, what)
	}
	system, can := systemNamed[T](name, systemSettings{})
	if can {
		return system, nil
	}
	there := "there is"
	names := systemsThat[T]()
	if len(names) != 1 {
		there = "there are"
	}
	return system, withCode(exitBadPlan, "there is no system %q to be %s; %s: %s", name, what, there,
		strings.Join(names, ", "))
}

// systemInfos describes all systems, by name. The system that plays models is included only if model, the
// text of a model file, is not empty.
func systemInfos(model string) map[string]lab.SystemInfo {
	infos := map[string]lab.SystemInfo{}
	for _, system := range systems(systemSettings{model: model}) {
		info := system.Describe()
		infos[info.Name] = info
	}
	return infos
}

// programs returns the path of this program, and the folder of the unit programs, which is next to it.
func programs() (own, units string, err error) {
	if own, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("find the program cleave itself: %w", err)
	}
	return own, filepath.Join(filepath.Dir(own), "unit"), nil
}

// missingPrograms returns an error if the unit programs or host-agent are not beside this program.
func missingPrograms() error {
	own, units, err := programs()
	if err != nil {
		return err
	}
	for _, part := range []struct{ name, path string }{{"the unit programs are", units},
		{"host-agent, which keeps units, is", hostAgent(own)}} {
		if _, err := os.Stat(part.path); err != nil {
			return withCode(exitMissingPart, "%s not beside cleave (%s): unpack the whole archive, or build all "+
				"with: make build", part.name, part.path)
		}
	}
	return nil
}

// deployers returns the deployers of this program, by name. own is the path of this program, and units the
// folder of the unit programs. label marks everything that the deployers start. With empty arguments, the
// deployers can only report their capabilities and check layouts.
func deployers(own, units, label string) (map[string]lab.Deployer, error) {
	userCluster, clusterErr := usersCluster()
	userSwarm, swarmErr := usersSwarm()
	hosts, hostsErr := usersHosts()
	if err := errors.Join(clusterErr, swarmErr, hostsErr); err != nil {
		return nil, err
	}
	starter := filepath.Join(units, lab.StarterProgram)
	if userCluster != nil {
		userCluster.Starter = starter
	}
	if userSwarm != nil {
		userSwarm.Starter = starter
	}
	agentPath := hostAgent(own)
	processes := process.New(units, []string{agentPath, agent.JanitorCommand},
		[]string{agentPath, agent.KeeperCommand}, label)
	return map[string]lab.Deployer{
		lab.Process: processes, "compose": compose.New(processes, label),
		lab.DockerHost:   docker.New(docker.Host, processes, units, label),
		lab.DockerBridge: docker.New(docker.Bridge, processes, units, label),
		lab.Kubernetes: kubernetes.New(processes, units, filepath.Join(leftovers.Root(), label, "kubernetes"),
			label, userCluster),
		lab.Swarm: swarm.New(processes, units, label, filepath.Join(leftovers.Root(), label, lab.Swarm),
			userSwarm),
		lab.SSH: ssh.New(processes, units, agentPath, label, hosts, meter.New()),
	}, nil
}

// isTerminal reports whether w is a terminal that understands escape sequences.
func isTerminal(w io.Writer) bool {
	file, ok := plain.Raw(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// useColour reports whether to print in colour: on a terminal, unless NO_COLOR is set (no-color.org).
func useColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == ""
}
