// Package hosts simulates several hosts on this one. Each has its own network, process IDs, mounts and host
// name (Linux namespaces), and an address in a network that they share through a switch. Programs of this
// host run on them and see its files.
//
// The namespaces of a host last as long as its first process, which ends with the conductor. The kernel then
// ends all other processes there and removes mounts, links and routes, so that nothing is left, however the
// conductor ends. Only control groups remain (package cgroup).
//
// Addresses are in 198.19.0.0/16, a range for benchmarks that is not routed (RFC 2544).
//
// Entry points: Make, Set.Close; Host.Command for what runs on one.
package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// ranges is the number of ranges of 256 addresses that a set has: one for its hosts, the others for units
	// and containers on them.
	ranges = 8
	// maxSets is the largest number of sets on this machine at the same time.
	maxSets = 256 / ranges
	// firstNumber is the last byte of the first host's address; this host has .1.
	firstNumber = 10
	// firstFloating is the last byte of the first floating address.
	firstFloating = 2
)

// Set is a set of hosts with a network.
type Set struct {
	number    int // of the set on this machine, which determines its ranges
	linkIndex int // of our link in the kernel; unlike its name, no other set can get it
	label     string
	launcher  *launch.Launcher
	switchPID int // of the process whose network has the switch
	hosts     []*Host
	closing   sync.Once  // of the launcher
	mu        sync.Mutex // guards held
	held      []first    // also those that have ended
}

// first is the first process of the switch or of a host.
type first struct {
	*exec.Cmd
	ended chan struct{} // closed when it was reaped
}

// Host is a simulated host of a set.
type Host struct {
	Name    string
	Address string
	port    string // name of its link at the switch
	set     *Set
	first   atomic.Int64 // process ID, on this host, of its first process
	kills   atomic.Int32 // by Kill
	runs    atomic.Bool  // it was booted, and not killed since
	linked  atomic.Bool  // the switch forwards its packets
	rate    float64      // limit of its link, in bytes per second; 0: no limit
}

// Missing returns an error that names what this host lacks, or nil.
func Missing() error {
	var err error
	if os.Geteuid() != 0 {
		err = errors.New("hosts of their own network need root: run as root")
	}
	return errors.Join(err, lab.MissingPrograms("a host of its own network", map[string]string{
		"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "mount": "mount"}))
}

// Make makes hosts with these names. Processes on them carry the label.
func Make(ctx context.Context, label string, names ...string) (_ *Set, err error) {
	s := &Set{label: label, launcher: launch.NewLauncher()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make hosts: %w", err), s.Close())
		}
	}()
	if s.switchPID, err = s.hold("switch"); err != nil {
		return nil, err
	}
	if err := s.claim(ctx); err != nil {
		return nil, err
	}
	for i, name := range names {
		h := &Host{Name: name, Address: fmt.Sprintf("%s%d", s.Range(0), firstNumber+i),
			port: "port" + strconv.Itoa(i), set: s}
		s.hosts = append(s.hosts, h)
		if err := h.Boot(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Boot starts a host, also one that was killed: with its name and addresses, but without the processes,
// mounts and routes that it had. Its MAC address stays the same, as others still have it in their ARP tables.
func (h *Host) Boot(ctx context.Context) (err error) {
	if h.Runs() { // it was booted before, and what was to run there has failed
		if err := h.Kill(ctx); err != nil {
			return err
		}
	}
	s := h.set
	pid, err := s.hold(h.Name)
	h.first.Store(int64(pid)) // 0 after an error
	if err != nil {
		return err
	}
	err = errors.Join(
		ip(ctx, 0, "link add", h.port, "netns", strconv.Itoa(s.switchPID), "type veth peer name eth0 address",
			h.mac(), "netns", strconv.Itoa(pid)),
		ip(ctx, s.switchPID, "link set", h.port, "master switch up"),
		ip(ctx, pid, "address add", h.Address+"/24", "dev eth0"),
		ip(ctx, pid, "link set eth0 up"),
	)
	if err == nil && h.rate > 0 {
		err = h.Limit(ctx, h.rate)
	}
	h.runs.Store(err == nil)
	h.linked.Store(err == nil)
	if err != nil { // its process and its link would be in the way of the next Boot
		err = errors.Join(err, h.Kill(context.WithoutCancel(ctx)))
	}
	return err
}

// mac returns the MAC address of the host: a locally administered one, made from its IP address.
func (h *Host) mac() string {
	text := "02:00"
	for _, b := range net.ParseIP(h.Address).To4() {
		text += fmt.Sprintf(":%02x", b)
	}
	return text
}

// Kill ends a host like a power cut: when it returns, all processes and the network of the host are gone.
func (h *Host) Kill(ctx context.Context) error {
	h.kills.Add(1)
	h.runs.Store(false)
	h.set.mu.Lock()
	held := slices.Clone(h.set.held)
	h.set.mu.Unlock()
	for _, first := range held {
		if first.Process.Pid == h.First() {
			_ = first.Process.Kill() // it may have ended
			<-first.ended
		}
	}
	return deleteLink(ctx, h.set.switchPID, h.port)
}

// deleteLink deletes a link in the network of a process, if it exists: the kernel removes the links of a
// network a moment after its last process, perhaps while ip runs.
func deleteLink(ctx context.Context, pid int, link string) error {
	err := ip(ctx, pid, "link delete", link)
	for _, gone := range []string{"Cannot find", "No such device"} {
		if err != nil && strings.Contains(err.Error(), gone) {
			return nil
		}
	}
	return err
}

// First returns the process ID, on this host, of the host's first process.
func (h *Host) First() int { return int(h.first.Load()) }

// Kills returns how often Kill was called. It tells whether a program on the host has ended by itself or with
// the host.
func (h *Host) Kills() int32 { return h.kills.Load() }

// Runs reports whether the host has processes and a network: it was not killed, or has been booted since.
func (h *Host) Runs() bool { return h.runs.Load() }

// IsUp reports whether the host runs and is connected to the network.
func (h *Host) IsUp() bool { return h.runs.Load() && h.linked.Load() }

// begin is the script of a host's first process. It makes the mounts private, mounts a /proc of the host's
// own processes, and sets host name and loopback. Then it waits for orphans, as an init process does. $0 is
// the name.
const begin = `mount --make-rprivate / && mount -t proc proc /proc && hostname "$0" && ip link set lo up && echo up || exit
sleep infinity & while :; do wait; done`

// hold starts the first process of a host, or of the switch, and returns its process ID.
func (s *Set) hold(name string) (pid int, err error) {
	command := exec.Command("sh", "-c", begin, name)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + s.label}
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL, Setsid: true,
	}
	var stderr strings.Builder
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	var ended <-chan struct{}
	if err == nil {
		ended, err = s.startFirst(command)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "up\n" {
		<-ended
		return 0, fmt.Errorf("%s does not come up: %s", name, strings.TrimSpace(stderr.String()))
	}
	return command.Process.Pid, nil
}

// startFirst starts a first process, unless the set was closed. The channel is closed when it was reaped.
func (s *Set) startFirst(command *exec.Cmd) (ended <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.launcher.Start(command); err != nil {
		return nil, err
	}
	started := first{command, make(chan struct{})}
	s.held = append(s.held, started)
	go func() {
		_ = command.Wait() // it is killed, or its start has failed
		close(started.ended)
	}()
	return started.ended, nil
}

// claim makes the switch and reserves address ranges that no other set of this machine has. The name of the
// link from this host to the switch is the reservation.
func (s *Set) claim(ctx context.Context) error {
	if err := errors.Join(ip(ctx, s.switchPID, "link add switch type bridge"),
		ip(ctx, s.switchPID, "link set switch up")); err != nil {
		return err
	}
	for s.number = range maxSets {
		err := ip(ctx, 0, "link add", s.link(), "type veth peer name outside netns", strconv.Itoa(s.switchPID))
		if err == nil {
			link, err := net.InterfaceByName(s.link())
			if err != nil {
				return err
			}
			s.linkIndex = link.Index
			return errors.Join(
				ip(ctx, s.switchPID, "link set outside master switch up"),
				ip(ctx, 0, "address add", s.Here()+"/24", "dev", s.link()),
				ip(ctx, 0, "link set", s.link(), "up alias", s.label),
			)
		}
		if !strings.Contains(err.Error(), "File exists") {
			return err
		}
	}
	return fmt.Errorf("all %d ranges of addresses are taken by links cleave-0 to cleave-%d of this host",
		maxSets, maxSets-1)
}

// link returns the name of the link from this host to the switch.
func (s *Set) link() string { return "cleave-" + strconv.Itoa(s.number) }

// Range returns the prefix of a range of 256 addresses, such as "198.19.8.". Range 0 is for the hosts, 1 to 7
// are for units and containers on them.
func (s *Set) Range(i int) string { return fmt.Sprintf("198.19.%d.", s.number*ranges+i) }

// Here returns the address of this host in their network.
func (s *Set) Here() string { return s.Range(0) + "1" }

// Floating returns the i-th floating address, from 0 to 7: programs on the hosts agree on which host has it.
func (s *Set) Floating(i int) string { return fmt.Sprintf("%s%d", s.Range(0), firstFloating+i) }

// Hosts returns the hosts in the order in which Make got their names.
func (s *Set) Hosts() []*Host { return s.hosts }

// Named returns the host of a name; nil if there is none. s may be nil.
func (s *Set) Named(name string) *Host {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.hosts, func(h *Host) bool { return h.Name == name }); i >= 0 {
		return s.hosts[i]
	}
	return nil
}

// Units returns, for a meter, the processes of the hosts that are in no container.
func (s *Set) Units() []lab.Unit {
	var all []lab.Unit
	for _, h := range s.hosts {
		all = append(all, lab.Unit{Name: h.Name, Role: h.Name, PID: h.First(), Span: lab.SpanHost})
	}
	return all
}

// RouteHere routes a range through a host, on this host.
func (s *Set) RouteHere(ctx context.Context, i int, via *Host) error {
	return ip(ctx, 0, "route replace", s.Range(i)+"0/24", "via", via.Address)
}

// RouteTo routes an address through a host, on this host. With nil it removes that route.
func (s *Set) RouteTo(ctx context.Context, address string, via *Host) error {
	if via == nil {
		return ip(ctx, 0, "route delete", address)
	}
	return ip(ctx, 0, "route replace", address, "via", via.Address)
}

// Route routes a range through a host, on this host and all others.
func (s *Set) Route(ctx context.Context, i int, via *Host) error {
	err := s.RouteHere(ctx, i, via)
	for _, h := range s.hosts {
		if h != via {
			err = errors.Join(err, h.Route(ctx, i, "via "+via.Address))
		}
	}
	return err
}

// Route adds a route to a range on the host: "via ADDRESS" or "dev eth0".
func (h *Host) Route(ctx context.Context, i int, route string) error {
	return ip(ctx, h.First(), "route replace", h.set.Range(i)+"0/24", route)
}

// Command returns a command that runs a program of this host on h. It ends with h at the latest.
func (h *Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target=" + strconv.Itoa(h.First()), "--net", "--pid", "--mount", "--uts", "--", program,
	}, args...)...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + h.set.label}
	command.Dir = "/"
	return command
}

// Enter changes a command that was not started yet to use the network of h. It stays a process of this host
// otherwise.
func (h *Host) Enter(command *exec.Cmd) error {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	command.Args = append([]string{nsenter, "--target=" + strconv.Itoa(h.First()), "--net", "--", command.Path},
		command.Args[1:]...)
	command.Path = nsenter
	return nil
}

// Run runs a program on h to its end. Errors hold its output.
func (h *Host) Run(ctx context.Context, program string, args ...string) error {
	return finish(h.Command(ctx, program, args...))
}

// Start starts a command that Command has returned. The caller calls its Wait.
func (h *Host) Start(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return h.set.launcher.Start(command)
}

// Close ends the hosts with all their processes. A later Boot fails. s may be nil.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	err := s.unlink()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, first := range s.held {
		_ = first.Process.Kill() // it may have ended
	}
	for _, first := range s.held {
		<-first.ended
	}
	s.closing.Do(s.launcher.Close)
	return err
}

// unlink deletes our link before the switch ends. The kernel would delete it with the switch, but at any time
// after that; by then another set may have a link of the same name.
func (s *Set) unlink() error {
	link, err := net.InterfaceByIndex(s.linkIndex)
	if err != nil {
		return nil // it does not exist
	}
	return deleteLink(context.Background(), 0, link.Name)
}

// ip runs the command ip in the network of a process, or of this host if pid is 0. Words are split at spaces.
func ip(ctx context.Context, pid int, words ...string) error {
	if pid == 0 {
		return finish(exec.CommandContext(ctx, "ip", split(words)...))
	}
	return In(ctx, pid, "ip", words...)
}

// In runs a program in the network of a process. Words are split at spaces. It fails if pid is 0: a change
// that is meant for a unit that has ended must not apply to this host.
func In(ctx context.Context, pid int, program string, words ...string) error {
	if pid <= 0 {
		return fmt.Errorf("%s in the network of a process: there is no process", program)
	}
	arguments := []string{"--target=" + strconv.Itoa(pid), "--net", program}
	arguments = append(arguments, split(words)...)
	return finish(exec.CommandContext(ctx, "nsenter", arguments...))
}

// split splits words at spaces.
func split(words []string) []string { return strings.Fields(strings.Join(words, " ")) }

// finish runs a short command. Errors hold its output.
func finish(command *exec.Cmd) error {
	text, err := command.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(text))
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, said)
	}
	return nil
}
