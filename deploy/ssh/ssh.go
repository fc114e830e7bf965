// Package ssh deploys units as processes of hosts that the user names. It calls the user's own ssh program,
// with the user's configuration, keys and known hosts, and without prompts. An agent (package agent), which
// is copied to every host, runs there from the first trial to the last; control and output of units pass
// through it. Programs of the conductor, such as the load generator, run as processes of this host.
//
// Units are called at the address at which ssh reaches their host. When a conductor is killed its connections
// end, and the agents remove everything that it had on the hosts.
//
// Entry points: New, Deployer.Deploy; Named for the hosts that the user names.
package ssh

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/lab"
)

// Variable is the environment variable that names the hosts, as for ssh, separated by commas.
const Variable = "CLEAVE_USE_HOSTS"

// Named returns the hosts that Variable names, or none if it is not set or empty.
func Named(lookup func(string) (string, bool)) ([]string, error) {
	text, _ := lookup(Variable)
	if text == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n'\""):
			return nil, fmt.Errorf("%s: %q is no host: write them as for ssh, with commas between: user@a,user@b",
				Variable, name)
		case slices.Contains(names, name):
			return nil, fmt.Errorf("%s: the host %s is named twice", Variable, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// Missing returns an error that names what this host lacks, or nil.
func Missing() error {
	return lab.MissingPrograms("a deployment on hosts of yours", map[string]string{"ssh": "openssh-client"})
}

// Deployer starts units on hosts. It must be closed after the last trial.
type Deployer struct {
	fleet.Gate
	processes *process.Deployer // for units on this host
	programs  string            // folder of our unit programs, or path of the only one
	agent     string            // path of the agent's program
	label     string            // marks processes of this host, see New
	names     []string          // of the hosts, as the user writes them
	meter     lab.Meter         // of this host

	connecting sync.Mutex
	launcher   *launch.Launcher // nil until the first trial
	hosts      []*host
	made       fleet.Made // the agents, and copies of the unit programs
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of the unit programs in a folder (see process.New) on the named hosts. agentPath is
// the path of the agent's program, which calls agent.Main. processes deploys the units that run on this host,
// and meter meters them. label marks the processes that are started here.
func New(
	processes *process.Deployer, programs, agentPath, label string, names []string, meter lab.Meter,
) *Deployer {
	return &Deployer{processes: processes, programs: programs, agent: agentPath, label: label, names: names,
		meter: meter}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.SSH }

// Can implements lab.Deployer. Units use the network and the disk of their hosts, which we cannot change.
func (d *Deployer) Can() lab.Capabilities {
	return lab.Capabilities{Faults: []lab.FaultKind{lab.FaultKill, lab.FaultRestart, lab.FaultPause}}
}

// Preflight implements lab.Deployer. The agent of each host checks the units of that host.
func (d *Deployer) Preflight(ctx context.Context, layout lab.Layout) error {
	servers, units, rest := containers.Split(layout)
	problems := []error{Missing(), d.processes.Preflight(ctx, rest), containers.CheckBeside(rest),
		containers.CheckServices(layout.Services, "process or docker-host"),
		containers.CheckFolders(layout.Services, "others"), fleet.CheckUnpublished(units)}
	if layout.SharedMemory > 0 || layout.SocketName > 0 {
		problems = append(problems, &lab.Incapable{Why: "the units share memory or Unix sockets, which do " +
			"not reach other hosts: deploy them in another way"})
	}
	remote := slices.Concat(servers, units, layout.Prepare)
	for _, spec := range remote {
		problems = append(problems, check(spec))
	}
	places, err := place(remote, len(d.names))
	if err = errors.Join(append(problems, err)...); err != nil {
		return err // without connecting: the user has to change the layout first
	}
	hosts, err := d.connected(ctx)
	if err != nil {
		return err
	}
	for i, h := range hosts {
		part := lab.Layout{Descriptors: layout.Descriptors}
		for _, spec := range remote {
			if places[spec.Name] == i {
				spec.Node = "" // its agent knows no nodes
				part.Units = append(part.Units, spec)
			}
		}
		if err := h.do(ctx, "Check", part); err != nil {
			problems = append(problems, fmt.Errorf("host %s: %w", h.name, err))
		}
	}
	return errors.Join(problems...)
}

// check returns why a unit cannot run on another host, or nil.
func check(spec lab.UnitSpec) error {
	refuse := func(format string, args ...any) error {
		return &lab.Incapable{Why: fmt.Sprintf("unit %s %s: deploy it in another way", spec.Name,
			fmt.Sprintf(format, args...))}
	}
	switch {
	case spec.Compose != nil:
		return refuse("is a compose file")
	case spec.Image != "":
		return fleet.ImageRefused(spec)
	case spec.Floats != "":
		return refuse("shares the address %s with others, and addresses of other hosts are not ours to give",
			spec.Floats)
	case len(spec.Mounts) > 0, len(spec.Reads) > 0, spec.Leaves != "", spec.Dir != "":
		return refuse("works with folders of this host, which others do not have")
	case len(spec.Binds) > 0:
		return refuse("listens on %v, which are addresses of this host", spec.Binds)
	}
	return nil
}

// place returns the index of the host of each unit, by its name. The node "node-1" is the first host; nodes
// with other names get the hosts that are left, in the order of their first unit. A unit without a node gets
// the host of the units with which it shares a volume; the others are distributed round robin. It fails if
// units with a common volume are on different nodes.
func place(specs []lab.UnitSpec, hosts int) (map[string]int, error) {
	if hosts == 0 {
		return nil, errors.New("no hosts are named: name them (--hosts user@a,user@b)")
	}
	names := make([]string, hosts)
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i+1)
	}
	nodes, err := containers.Places(names, specs, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: name more hosts (--hosts)", err)
	}
	places := map[string]int{}
	volumes := map[string]int{}
	// Units with a node come first. Units without one follow those with which they share a volume.
	for _, spec := range specs {
		if spec.Node == "" {
			continue
		}
		index := slices.Index(names, nodes[spec.Node])
		volume := fleet.Volume("", spec)
		if other, shared := volumes[volume]; shared && other != index {
			return nil, fmt.Errorf("unit %s on %s shares the volume %s with a unit on another host, and hosts have "+
				"no common folder: place both on one node", spec.Name, spec.Node, volume)
		}
		places[spec.Name] = index
		volumes[volume] = index
	}
	next := 0
	for _, spec := range specs {
		if spec.Node != "" {
			continue
		}
		volume := fleet.Volume("", spec)
		index, shared := volumes[volume]
		if !shared {
			index, next = next%hosts, next+1
		}
		places[spec.Name] = index
		volumes[volume] = index
	}
	return places, nil
}

// connected returns the hosts, after it has started an agent on each that has none.
func (d *Deployer) connected(ctx context.Context) ([]*host, error) {
	d.connecting.Lock()
	defer d.connecting.Unlock()
	if d.launcher == nil {
		d.launcher = launch.NewLauncher()
		for _, name := range d.names {
			d.hosts = append(d.hosts, &host{name: name, launcher: d.launcher, label: d.label})
		}
	}
	begun := time.Now()
	var fresh []*host
	for _, h := range d.hosts {
		if !h.isConnected() {
			fresh = append(fresh, h)
		}
	}
	if len(fresh) == 0 {
		return d.hosts, nil
	}
	if err := d.connect(ctx, fresh); err != nil {
		// Without an agent they are fresh again, and the next trial checks them again.
		return nil, errors.Join(err, leaveAll(fresh))
	}
	d.made.Platform(begun)
	return d.hosts, nil
}

// connect starts an agent on each of the fresh hosts, and checks that all hosts reach them.
func (d *Deployer) connect(ctx context.Context, fresh []*host) error {
	if err := fleet.ForAll(ctx, len(fresh), fresh, func(ctx context.Context, h *host) error {
		return h.connect(ctx, d.agent)
	}); err != nil {
		return err
	}
	for _, h := range fresh {
		for _, from := range d.hosts {
			if from == h {
				continue
			}
			if err := from.do(ctx, "Reaches", h.probe); err != nil {
				return fmt.Errorf("host %s does not reach host %s: %w: let the firewalls pass ports 10000 to "+
					"32767 between them", from.name, h.name, err)
			}
		}
	}
	return nil
}

// leaveAll ends the agents of hosts.
func leaveAll(hosts []*host) error {
	return fleet.ForAll(context.Background(), len(hosts), hosts,
		func(_ context.Context, h *host) error { return h.leave() })
}

// Close ends all agents, which clean up.
func (d *Deployer) Close() error {
	d.connecting.Lock()
	defer d.connecting.Unlock()
	if d.launcher == nil {
		return nil
	}
	err := leaveAll(d.hosts)
	d.launcher.Close()
	d.launcher = nil
	d.hosts = nil
	return err
}

// Clean starts agents that remove what dead agents have left on hosts, and returns what they removed.
func Clean(ctx context.Context, program, label string, names []string) (removed []string, err error) {
	launcher := launch.NewLauncher()
	defer launcher.Close()
	for _, name := range names {
		h := &host{name: name, launcher: launcher, label: label}
		list, failed := h.clean(ctx, program)
		for line := range strings.Lines(list) {
			removed = append(removed, strings.TrimSpace(line)+" on "+name)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("host %s: %w", name, failed))
		}
	}
	return removed, err
}

// clean starts an agent that removes what dead agents have left on the host. It returns what the agent has
// removed, one thing a line, also with an error.
func (h *host) clean(ctx context.Context, program string) (list string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectPatience,
		fmt.Errorf("its agent has not ended within %v", connectPatience))
	defer cancel()
	s, err := h.run(ctx, program, agent.CleanCommand)
	if s.detach == nil { // ssh was not started
		return "", err
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(bounded.New(s.out, maxCleaned))
	}
	if err != nil {
		err = h.abandon(s, err)
	} else if h.awaitEnd(nil); h.result != nil {
		err = h.explain()
	}
	if err != nil && ctx.Err() != nil { // the end of ctx has killed ssh
		err = context.Cause(ctx)
	}
	return string(text), err
}

// ProofPlace says, for messages, where the owner of a host puts the token that proves consent to load.
const ProofPlace = "the file /etc/cleave-load.txt, which root has written"

// maxProof is the longest token, in bytes.
const maxProof = 4096

// Proof returns the token at ProofPlace on a host, which it reads with a login of its own. It fails if root
// does not own the file.
func Proof(ctx context.Context, host string) ([]byte, error) {
	const noLabel = "" // it ends at once, so cleave clean need not find it
	command := sshCommand(host, noLabel, fmt.Sprintf("exec sh -c 'f=/etc/cleave-load.txt; "+
		"test \"$(stat -L -c %%u $f)\" = 0 && head -c %d $f'", maxProof+1))
	var stderr fleet.Tail
	command.Stderr = &stderr
	text, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, err
	}
	kill := func() { _ = command.Process.Kill() } // it may have ended
	defer context.AfterFunc(ctx, kill)()
	proof, err := io.ReadAll(bounded.New(text, maxProof))
	if err != nil {
		kill() // it would wait for a reader
	}
	err = errors.Join(err, command.Wait())
	switch {
	case err == nil:
	case ctx.Err() != nil: // its end has killed ssh
		err = context.Cause(ctx)
	default:
		err = fmt.Errorf("%w%s", err, stderr.LastWords())
	}
	return proof, err
}

// pieceBytes is the size of the pieces in which a program is sent.
const pieceBytes = 1 << 20

// send copies a program of this host to all hosts that lack it. Its name there is the hash of its content.
func (d *Deployer) send(ctx context.Context, program string, hosts []*host) error {
	begun := time.Now()
	lacking := slices.DeleteFunc(slices.Clone(hosts), func(h *host) bool {
		h.programs.Lock()
		defer h.programs.Unlock()
		_, there := h.sent[program]
		return there
	})
	if len(lacking) == 0 {
		return nil
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("copy a unit program to hosts: %w", err)
	}
	name := fmt.Sprintf("%x", sha256.Sum256(text))
	err = fleet.SideBySide(ctx, len(lacking), lacking, func(ctx context.Context, h *host) error {
		if err := h.copyProgram(ctx, program, name, text); err != nil {
			return fmt.Errorf("copy %s to host %s: %w", filepath.Base(program), h.name, err)
		}
		return nil
	})
	if err == nil {
		d.made.Image(program, int64(len(text)), begun)
	}
	return err
}

// copyProgram copies a program to the host, and records its path there.
func (h *host) copyProgram(ctx context.Context, program, name string, text []byte) error {
	var path string
	for begin := 0; begin < len(text); begin += pieceBytes {
		end := min(begin+pieceBytes, len(text))
		piece := agent.Piece{Name: name, Data: text[begin:end], First: begin == 0, Last: end == len(text)}
		var err error
		if path, err = call[string](ctx, h, "Put", piece); err != nil {
			return err
		}
	}
	h.programs.Lock()
	defer h.programs.Unlock()
	h.sent[program] = path
	return nil
}

// programOf returns the path on the host of the program that a unit runs: its own, or the copy of our unit
// program.
func (h *host) programOf(programs string, spec lab.UnitSpec) string {
	if spec.Program != "" {
		return spec.Program
	}
	h.programs.Lock()
	defer h.programs.Unlock()
	return h.sent[containers.UnitProgram(programs, spec)]
}
