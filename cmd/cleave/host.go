package main

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
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/named"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/backing/sqlite"
	"github.com/cleave-lab/cleave/deploy/compose"
	"github.com/cleave-lab/cleave/deploy/docker"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/meter"
	"github.com/cleave-lab/cleave/studies"
)

// sweeperName is the hidden command that removes the leftovers of a conductor after its
// end; see package leftovers.
const sweeperName = "sweeper"

func sweeperCommand() *cobra.Command {
	return &cobra.Command{
		Use: sweeperName + " DIR", Hidden: true, Short: "remove the leftovers of a conductor when it has ended",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			err := leftovers.Sweep(os.Stdin, args[0])
			// The label of this conductor, which has ended, is the name of its folder.
			_, _, failed := cleanClusters(command.Context(), filepath.Base(args[0]))
			return errors.Join(err, failed)
		},
	}
}

func (a app) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "remove what an earlier cleave has left on this host",
		Long: `Ends processes and removes directories that belong to a cleave that has died, what
it has in Docker, and what it has made on servers, hosts and clusters that
CLEAVE_USE_... name. Results are kept, and so is what may belong to a cleave that
runs: clean lists it.`,
		Example: "  cleave clean",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(command *cobra.Command, _ []string) error { return a.clean(command.Context()) },
	}
}

// clean removes leftovers. It continues after errors.
func (a app) clean(ctx context.Context) error {
	servers, err := namedServers()
	found, failed := leftovers.Find(leftovers.Root())
	err = errors.Join(err, failed)
	var removed []string
	for _, leftover := range found.Left {
		if ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
			break
		}
		gone, failed := leftover.Remove()
		if gone {
			removed = append(removed, leftover.String())
		}
		err = errors.Join(err, failed)
	}
	onServers, unclearOnServers, serversErr := named.Clean(ctx, servers)
	onClusters, unclearOnClusters, clustersErr := cleanClusters(ctx, "")
	onHosts, hostsErr := cleanHosts(ctx)
	err = errors.Join(err, serversErr, clustersErr, hostsErr)
	removed = slices.Concat(removed, onServers, onClusters, onHosts)
	for _, name := range removed {
		fmt.Fprintln(a.out, "removed", name)
	}
	for _, what := range slices.Concat(found.Unclear, unclearOnServers, unclearOnClusters) {
		fmt.Fprintln(a.errOut, "left alone:", what)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintln(a.out, "nothing to remove")
	}
	return err
}

// diagnosis holds the findings of doctor.
type diagnosis struct {
	Environment lab.Environment   `json:"environment"`
	Deployments map[string]string `json:"deployments"` // the missing part; "" if there is none
	// Backings holds the backing services, by kind.
	Backings map[string]backingState `json:"backings"`
	// Needs holds the further requirements of systems, by name.
	Needs     map[string]backingState `json:"needs"`
	Leftovers []string                `json:"leftovers"`
}

// backingState describes a backing service, or a further requirement of a system, on this host.
type backingState struct {
	Is      string `json:"is,omitempty"` // program and version, and whether it is a stand-in
	Missing string `json:"missing,omitempty"`
	Install string `json:"install,omitempty"` // the command that installs it
}

// programState returns the state of a program on this host. packaged is the name of its package, use its
// purpose.
func programState(program, packaged, use string) backingState {
	if _, err := exec.LookPath(program); err != nil {
		return backingState{Missing: fmt.Sprintf("there is no program %q here", program),
			Install: lab.AptInstall(packaged)}
	}
	return backingState{Is: program + ", " + use}
}

// serverState returns the state of a server that Cleave starts for trials.
func serverState(found *server.Server, err error) backingState {
	if missing, is := errors.AsType[*lab.MissingError](err); is {
		return backingState{Missing: missing.What, Install: missing.Install}
	}
	if err != nil {
		return backingState{Missing: err.Error()}
	}
	return backingState{Is: found.About()}
}

// serverPatience is the longest time that a server of the user may take to return its version, and a cluster
// or host to return its addresses or the proof of consent.
const serverPatience = 10 * time.Second

// userServerState returns the state of a server that the user names.
func userServerState(ctx context.Context, b named.Backing) backingState {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	err := b.Preflight()
	about := ""
	if err == nil {
		about, err = b.Look(ctx)
	}
	if err != nil {
		return backingState{Missing: err.Error()}
	}
	return backingState{Is: about + ", your own (" + b.Variable() + ")"}
}

func (a app) doctorCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor [STUDY | FILE]",
		Short: "say what this host can do, and how to get the rest",
		Long: `Prints the facts that every experiment records about this host, which parts are
missing and why, and what earlier runs have left. Of a built-in study, or a study file, it
says what would be left out here, and prints one line that installs all that is
missing. Exit code 3: a part of Cleave, or one that the study needs, is missing.`,
		Example:           "  cleave doctor\n  cleave doctor costa2022",
		Args:              arguments(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions(studies.Names(), cobra.ShellCompDirectiveDefault),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.doctorStudy(command.Context(), args[0], asJSON)
			}
			found, broken := diagnose(command.Context())
			if asJSON {
				return errors.Join(writeJSON(a.out, found), broken)
			}
			a.showDiagnosis(found)
			return broken
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return command
}

// diagnose examines this host. Its error says that parts of Cleave are missing or settings are wrong; missing
// software of others is only a finding.
func diagnose(ctx context.Context) (diagnosis, error) {
	found := diagnosis{Environment: meter.NewHost(version).Environment(),
		Deployments: map[string]string{}, Leftovers: []string{}}
	broken := missingPrograms()
	dockerMissing := docker.Missing()
	for deployment, missing := range map[string]error{lab.Process: broken, lab.DockerHost: dockerMissing,
		lab.DockerBridge: dockerMissing, lab.SSH: ssh.Missing(), "compose": compose.Missing(),
		lab.Kubernetes: privateMissing(usersCluster, kubernetes.Missing),
		lab.Swarm:      privateMissing(usersSwarm, swarm.Missing)} {
		found.Deployments[deployment] = ""
		if missing != nil {
			found.Deployments[deployment] = missing.Error()
		}
	}
	found.Backings = map[string]backingState{
		sqlite.Kind: {Is: "SQLite, embedded"}, cache.Memory: {Is: "a cache in the units, embedded"},
	}
	for _, kind := range server.Kinds() {
		found.Backings[string(kind)] = serverState(server.New(kind, server.Settings{}))
	}
	found.Backings["haproxy"] = programState("haproxy", "haproxy", "for load balancing between replicas")
	found.Backings["keepalived"] = programState("keepalived", "keepalived", "for two balancers with one address")
	found.Backings["nginx"] = programState("nginx", "nginx-light", "for a reverse proxy")
	found.Needs = map[string]backingState{}
	for _, name := range systemsThat[lab.Demanding]() {
		system, _ := systemNamed[lab.Demanding](name, systemSettings{})
		for _, need := range system.Needs() {
			found.Needs[need.Name] = backingState{Is: need.Is, Missing: need.Missing, Install: need.Install}
		}
	}
	disk := backingState{Is: gluster.About() + ", for " + lab.KnobDisk + " " + lab.DiskReplicated}
	if err := gluster.Missing(); err != nil {
		disk = backingState{Missing: err.Error()}
	}
	found.Needs["replicated disk"] = disk
	servers, mistaken := namedServers()
	for kind, b := range servers {
		if _, listed := found.Backings[kind]; listed { // one server can provide several kinds, not all are listed
			found.Backings[kind] = userServerState(ctx, b)
		}
	}
	left, err := leftovers.Find(leftovers.Root())
	for _, leftover := range left.Left {
		found.Leftovers = append(found.Leftovers, leftover.String())
	}
	return found, errors.Join(broken, mistaken, err)
}

// showDiagnosis prints the findings of doctor.
func (a app) showDiagnosis(found diagnosis) {
	fmt.Fprintln(a.out, "This host")
	for _, name := range slices.Sorted(maps.Keys(found.Environment)) {
		a.showRow(strings.ReplaceAll(name, "_", " "), factText(found.Environment[name]))
	}
	fmt.Fprintln(a.out, "\nDeployments")
	for _, name := range slices.Sorted(maps.Keys(found.Deployments)) {
		state := "ready"
		if missing := found.Deployments[name]; missing != "" {
			state = "missing: " + missing
		}
		a.showRow(name, state)
	}
	a.showStates("Backing services", found.Backings)
	a.showStates("What systems need", found.Needs)
	fmt.Fprintln(a.out, "\nLeftovers of earlier runs")
	if len(found.Leftovers) == 0 {
		fmt.Fprintln(a.out, "  none")
	}
	for _, leftover := range found.Leftovers {
		fmt.Fprintf(a.out, "  %s (remove with: cleave clean)\n", leftover)
	}
}

// showStates lists the parts that this host has, and how to install the rest.
func (a app) showStates(title string, states map[string]backingState) {
	fmt.Fprintln(a.out, "\n"+title)
	for _, name := range slices.Sorted(maps.Keys(states)) {
		state := states[name]
		text := state.Is
		if state.Missing != "" {
			text = fmt.Sprintf("missing (%s)", state.Missing)
		}
		if state.Install != "" {
			text += "; type: " + state.Install
		}
		a.showRow(name, text)
	}
}

// showRow prints a name and a text, whose lines are aligned in a column.
func (a app) showRow(name, text string) {
	fmt.Fprintf(a.out, "  %-28s %s\n", name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 31)))
}

// factText shows the value of a fact, or why there is none.
func factText(fact lab.Fact) string {
	if fact.Unavailable != "" {
		return "not available here: " + fact.Unavailable
	}
	return strings.TrimSpace(fmt.Sprint(fact.Value, " ", fact.Unit))
}
