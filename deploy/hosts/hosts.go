// Package hosts makes several hosts out of this one: each has a network, a process table,
// mounts and a name of its own (Linux namespaces), and an address in a network that they
// share through a switch. Programs of this host run on them and see its files.
//
// A host is held by its first process, which ends with the conductor. The kernel then
// ends all that runs there and takes back the mounts, the links and the routes: nothing
// is left, however the conductor ends. Control groups are another matter (package cgroup).
//
// Addresses lie in 198.19.0.0/16, a range for benchmarks that nobody routes (RFC 2544).
//
// Entry points: Make, Set.Close; Host.Command for what runs on one.
package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// ranges is how many ranges of 256 addresses a set has: one for its hosts, the
	// others for what runs on them.
	ranges = 8
	// most is the largest number of sets on this machine at the same time.
	most = 256 / ranges
	// firstNumber is the last number of the first host's address; this host has .1.
	firstNumber = 10
	// firstFloating is that of the first address that no host has by itself.
	firstFloating = 2
)

// Set is a set of hosts with a network.
type Set struct {
	number   int // which of the ranges are ours
	index    int // of our link, as the kernel counts them: its name can become that of another set's
	label    string
	launcher *launch.Launcher
	middle   int         // the process that holds the switch
	held     []*exec.Cmd // the first processes
	hosts    []*Host
}

// Host is one of them.
type Host struct {
	Name    string
	Address string
	pid     int    // of its first process, as this host numbers it
	port    string // the switch's end of its link
	set     *Set
	kills   atomic.Int32 // how often it was killed
	rate    float64      // of its link, in bytes per second; 0: no limit
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

// Make makes hosts of these names. What is started on them carries the label.
func Make(ctx context.Context, label string, names ...string) (_ *Set, err error) {
	s := &Set{label: label, launcher: launch.NewLauncher()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make hosts: %w", err), s.Close())
		}
	}()
	if s.middle, err = s.hold("switch"); err != nil {
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

// Boot starts a host that was killed: with its name and addresses, no processes, mounts or
// routes. Others still have the address of its network card in their tables, so it stays.
func (h *Host) Boot(ctx context.Context) (err error) {
	s := h.set
	if h.pid, err = s.hold(h.Name); err != nil {
		return err
	}
	err = errors.Join(
		ip(ctx, 0, "link add", h.port, "netns", strconv.Itoa(s.middle), "type veth peer name eth0 address",
			h.card(), "netns", strconv.Itoa(h.pid)),
		ip(ctx, s.middle, "link set", h.port, "master switch up"),
		ip(ctx, h.pid, "address add", h.Address+"/24", "dev eth0"),
		ip(ctx, h.pid, "link set eth0 up"),
	)
	if err == nil && h.rate > 0 {
		err = h.Limit(ctx, h.rate)
	}
	return err
}

// card returns the MAC address of the host's network card: a locally administered one, made of its IP
// address.
func (h *Host) card() string {
	text := "02:00"
	for _, b := range net.ParseIP(h.Address).To4() {
		text += fmt.Sprintf(":%02x", b)
	}
	return text
}

// Kill ends a host as a power cut does: all its processes are gone when it returns, and its
// network.
func (h *Host) Kill(ctx context.Context) error {
	h.kills.Add(1)
	for _, first := range h.set.held {
		if first.Process.Pid == h.pid {
			_ = first.Process.Kill() // it may have ended
			_ = first.Wait()         // killed: that is how it ends
		}
	}
	return deleteLink(ctx, h.set.middle, h.port)
}

// deleteLink deletes a link in the network of a process. The kernel may have taken it back: it does so a
// moment after the last process of a network.
func deleteLink(ctx context.Context, pid int, link string) error {
	err := ip(ctx, pid, "link delete", link)
	if err != nil && strings.Contains(err.Error(), "Cannot find") {
		return nil
	}
	return err
}

// First returns the process that all others of the host descend from, as this host numbers it.
func (h *Host) First() int { return h.pid }

// Kills returns how often the host was killed: whoever waits for a program there knows by it
// why that has ended.
func (h *Host) Kills() int32 { return h.kills.Load() }

// begin plays the first process of a host: it makes mounts of its own, a /proc that shows
// its processes, its name, loopback. Then it takes in the orphans of the others.
const begin = `mount --make-rprivate / && mount -t proc proc /proc && hostname "$0" && ip link set lo up && echo up || exit
sleep infinity & while :; do wait; done`

// hold starts the first process of a host and returns its number.
func (s *Set) hold(name string) (pid int, err error) {
	command := exec.Command("sh", "-c", begin, name)
	command.Env, command.Dir = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + s.label}, "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL, Setsid: true,
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	said, err := command.StdoutPipe()
	if err == nil {
		err = s.launcher.Start(command)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	s.held = append(s.held, command)
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "up\n" {
		_, _ = io.Copy(io.Discard, said)
		return 0, fmt.Errorf("%s does not come up: %s", name, strings.TrimSpace(complaints.String()))
	}
	return command.Process.Pid, nil
}

// claim takes addresses that no other set of this machine has. The name of the link from this host to the
// switch reserves them.
func (s *Set) claim(ctx context.Context) error {
	if err := errors.Join(ip(ctx, s.middle, "link add switch type bridge"),
		ip(ctx, s.middle, "link set switch up")); err != nil {
		return err
	}
	for s.number = range most {
		err := ip(ctx, 0, "link add", s.link(), "type veth peer name outside netns", strconv.Itoa(s.middle))
		if err == nil {
			ours, err := net.InterfaceByName(s.link())
			if err != nil {
				return err
			}
			s.index = ours.Index
			return errors.Join(
				ip(ctx, s.middle, "link set outside master switch up"),
				ip(ctx, 0, "address add", s.Here()+"/24", "dev", s.link()),
				ip(ctx, 0, "link set", s.link(), "up alias", s.label),
			)
		}
		if !strings.Contains(err.Error(), "File exists") {
			return err
		}
	}
	return fmt.Errorf("all %d ranges of addresses are taken by links cleave-0 to cleave-%d of this host", most,
		most-1)
}

// link returns the name of the link that leads from this host to the others.
func (s *Set) link() string { return "cleave-" + strconv.Itoa(s.number) }

// Range returns the prefix of 256 addresses, such as "198.19.8.": range 0 is for the hosts, and 1 to 7 are
// for what runs on them.
func (s *Set) Range(i int) string { return fmt.Sprintf("198.19.%d.", s.number*ranges+i) }

// Here returns the address of this host in their network.
func (s *Set) Here() string { return s.Range(0) + "1" }

// Floating returns the i-th address, from 0 to 7, that no host has by itself: programs there agree
// which of them has it.
func (s *Set) Floating(i int) string { return fmt.Sprintf("%s%d", s.Range(0), firstFloating+i) }

// Hosts lists them in the order of their names when they were made.
func (s *Set) Hosts() []*Host { return s.hosts }

// Units returns what runs on the hosts themselves, not in containers there, for a meter.
func (s *Set) Units() []lab.Unit {
	var all []lab.Unit
	for _, h := range s.hosts {
		all = append(all, lab.Unit{Name: h.Name, Role: h.Name, PID: h.pid, Span: lab.SpanHost})
	}
	return all
}

// RouteHere lets this host reach a range through one of the others.
func (s *Set) RouteHere(ctx context.Context, i int, via *Host) error {
	return ip(ctx, 0, "route replace", s.Range(i)+"0/24", "via", via.Address)
}

// RouteTo lets this host reach an address through one of the others; nil: as those of its range again.
func (s *Set) RouteTo(ctx context.Context, address string, via *Host) error {
	if via == nil {
		return ip(ctx, 0, "route delete", address)
	}
	return ip(ctx, 0, "route replace", address, "via", via.Address)
}

// Route lets this host and all others reach a range through one of them.
func (s *Set) Route(ctx context.Context, i int, via *Host) error {
	err := s.RouteHere(ctx, i, via)
	for _, h := range s.hosts {
		if h != via {
			err = errors.Join(err, h.Route(ctx, i, "via "+via.Address))
		}
	}
	return err
}

// Route lets the host reach a range in some way: "via ADDRESS" or "dev eth0".
func (h *Host) Route(ctx context.Context, i int, route string) error {
	return ip(ctx, h.pid, "route replace", h.set.Range(i)+"0/24", route)
}

// Link takes the host off the network, or puts it back. It is the switch's end of its
// link that goes down, so that the host keeps its routes.
func (h *Host) Link(ctx context.Context, up bool) error {
	state := map[bool]string{true: "up", false: "down"}[up]
	return ip(ctx, h.set.middle, "link set", h.port, state)
}

// cutProof is how long what was cut off is tried to be reached.
const cutProof = 500 * time.Millisecond

// Unreached proves that nobody answers at an address, not even to refuse.
func Unreached(address string) (proof string, err error) {
	connection, err := net.DialTimeout("tcp", address, cutProof)
	if err == nil {
		return "", errors.Join(fmt.Errorf("%s still answers", address), connection.Close())
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("%s still answers: %w", address, err)
	}
	return "from this host: " + err.Error(), nil
}

// Command returns a program of this host that will run on that one. It ends with the host, at
// the latest.
func (h *Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target=" + strconv.Itoa(h.pid), "--net", "--pid", "--mount", "--uts", "--", program,
	}, args...)...)
	command.Env, command.Dir = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + h.set.label}, "/"
	return command
}

// Enter changes a command that was not started yet: it will have the network of the host, and
// all else, its process number too, of this one.
func (h *Host) Enter(command *exec.Cmd) error {
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	command.Args = append([]string{nsenter, "--target=" + strconv.Itoa(h.pid), "--net", "--", command.Path},
		command.Args[1:]...)
	command.Path = nsenter
	return nil
}

// Run runs a program there to its end.
func (h *Host) Run(ctx context.Context, program string, args ...string) error {
	return finish(h.Command(ctx, program, args...))
}

// Start starts a program there. The caller waits for it.
func (h *Host) Start(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return h.set.launcher.Start(command)
}

// Close ends the hosts with all that runs on them.
func (s *Set) Close() error {
	err := s.unlink()
	for _, first := range s.held {
		_ = first.Process.Kill() // it may have ended
	}
	for _, first := range s.held {
		_ = first.Wait() // killed: that is how it ends
	}
	s.held = nil
	if s.launcher != nil {
		s.launcher.Close()
		s.launcher = nil
	}
	return err
}

// unlink deletes our link before the switch ends. After that the kernel does, and another set may have a link
// of its name a moment later.
func (s *Set) unlink() error {
	link, err := net.InterfaceByIndex(s.index)
	if err != nil {
		return nil // there is none any more, or there never was
	}
	return deleteLink(context.Background(), 0, link.Name)
}

// ip runs ip in the network of a process; 0 is this host's. Words may hold several.
func ip(ctx context.Context, pid int, words ...string) error {
	if pid == 0 {
		return finish(exec.CommandContext(ctx, "ip", strings.Fields(strings.Join(words, " "))...))
	}
	return In(ctx, pid, "ip", words...)
}

// In runs a program in the network of a process. Words may hold several. Without a process it fails: what was
// meant for a unit must not change the network of this host.
func In(ctx context.Context, pid int, program string, words ...string) error {
	if pid <= 0 {
		return fmt.Errorf("%s in the network of a process: there is no process", program)
	}
	return finish(exec.CommandContext(ctx, "nsenter", append([]string{"--target=" + strconv.Itoa(pid), "--net",
		program}, strings.Fields(strings.Join(words, " "))...)...))
}

// finish runs a short command. What it says is told when it fails.
func finish(command *exec.Cmd) error {
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}
