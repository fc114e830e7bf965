package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/rpc"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
)

const (
	// connectPatience limits the start of an agent, including the time to copy it over a slow connection.
	connectPatience = 2 * time.Minute
	// probePatience limits the time to connect to the port at which the agent listens (host.probe).
	probePatience = 5 * time.Second
	// callPatience limits one call of an agent.
	callPatience = 2 * time.Minute
	// leavePatience limits how long an agent may take to clean up.
	leavePatience = 60 * time.Second
	// outputPatience limits the wait for output of an ssh that has ended: its ProxyCommand may keep that open.
	outputPatience = 2 * time.Second
	// maxAnswer is the longest answer of an agent, maxNoise the longest output of a login before the agent's,
	// and maxCleaned the longest list of what an agent has removed, in bytes.
	maxAnswer, maxNoise, maxCleaned = 64 << 20, 64 << 10, 1 << 20
)

// host is a host that the user names, with the agent that we have started there.
type host struct {
	name     string // as the user writes it
	launcher *launch.Launcher
	label    string // marks the ssh process for cleave clean

	command *exec.Cmd // ssh
	end     func()    // kills ssh; nil before its start
	stderr  *fleet.Tail
	answers *bounded.Reader // reads the answers of the agent
	client  *rpc.Client     // nil while there is no connection
	address string          // at which units are called
	probe   string          // address at which the agent listens until the first trial
	ended   chan struct{}   // closed when ssh has ended
	result  error           // of ssh; read after ended is closed
	hung    atomic.Bool     // ssh was killed because the agent did not answer

	programs sync.Mutex        // guards sent
	sent     map[string]string // paths of programs on the host, by their path here
}

// sshOptions returns the options of ssh: no prompts, no forwarding and no commands of the user's
// configuration, and an end when the other side is silent. Host keys are checked as the user's configuration
// says.
func sshOptions() []string {
	return []string{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "-o",
		"ServerAliveCountMax=3",
		"-o", "ControlMaster=no", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "ClearAllForwardings=yes",
		"-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no"}
}

// script is a format for the shell script that reads the agent's program from its input into a private folder
// and runs it. Its values are agent.SystemPrefix, the size of the program in bytes, and the agent's command.
// The script has no single quotes, so that every login shell passes it on to sh unchanged. The agent moves
// its program away and removes the folder; if the agent does not start, the trap removes the folder.
const script = `umask 077; echo "%s$(uname -sm)"; d=$(mktemp -d "${TMPDIR:-/tmp}/cleave-agent-XXXXXX") || exit; ` +
	`trap "rm -rf \"$d\"" 0 1 2 15; head -c %d >"$d/agent" && chmod 700 "$d/agent" && "$d/agent" %s "$d/agent"`

// sshCommand returns an ssh that runs a command on a host.
func sshCommand(name, label, command string) *exec.Cmd {
	c := exec.Command("ssh", append(sshOptions(), "--", name, command)...)
	c.Env = append(os.Environ(), "CLEAVE_RUN="+label)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.WaitDelay = outputPatience
	return c
}

// streams are the agent's standard input and output.
type streams struct {
	in  io.WriteCloser
	out *bufio.Reader
	// detach keeps ssh running after the context ends; nil: ssh was not started.
	detach func() bool
}

// run starts ssh, sends the agent's program to the host, and runs it there with a command such as
// agent.ServeCommand. ssh ends with ctx, unless detach is called before.
func (h *host) run(ctx context.Context, program, command string) (s streams, err error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return s, fmt.Errorf("read what runs on hosts: %w: build all with: make build", err)
	}
	filled := fmt.Sprintf(script, agent.SystemPrefix, len(text), command)
	h.command = sshCommand(h.name, h.label, "exec sh -c '"+filled+"'")
	h.command.SysProcAttr.Pdeathsig = syscall.SIGKILL // it ends with this process
	h.stderr = &fleet.Tail{}
	h.command.Stderr = h.stderr
	from, err := h.command.StdoutPipe()
	if err == nil {
		s.in, err = h.command.StdinPipe()
	}
	if err == nil {
		err = h.launcher.Start(h.command)
	}
	if err != nil {
		return s, err
	}
	h.end = func() { _ = h.command.Process.Kill() } // it may have ended
	h.ended = make(chan struct{})
	h.hung.Store(false)
	s.detach = context.AfterFunc(ctx, h.end)
	s.out = bufio.NewReader(from)
	if err = awaitLine(s.out, agent.SystemPrefix, checkSystem); err == nil {
		_, err = s.in.Write(text)
	}
	return s, err
}

// awaitLine reads until a line that begins with a mark, and calls check with the rest of that line. Some
// login shells print other lines before.
func awaitLine(from *bufio.Reader, mark string, check func(rest string) error) error {
	for noise := 0; noise < maxNoise; {
		line, err := from.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if rest, marked := strings.CutPrefix(string(line), mark); marked {
			return check(strings.TrimSpace(rest))
		}
		noise += len(line)
	}
	return unfit(fmt.Sprintf("a login there says more than %d bytes before it runs a command: have its "+
		"shell be silent where there is no terminal", maxNoise))
}

// unfit is the reason why a host cannot run our programs.
type unfit string

// Error implements error.
func (u unfit) Error() string { return string(u) }

// checkSystem compares the system of a host, as uname -sm prints it, with the one that our programs are built
// for.
func checkSystem(system string) error {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if want := "Linux " + machine; system != want {
		return unfit(fmt.Sprintf("it is %q, and these programs are built for %q: take a host of that kind",
			system, want))
	}
	return nil
}

// connect starts the agent and checks that units on its host can be reached from here.
func (h *host) connect(ctx context.Context, program string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectPatience,
		fmt.Errorf("no agent after %v", connectPatience))
	defer cancel()
	h.client = nil
	h.sent = map[string]string{} // those of an agent that has ended
	addresses, err := h.resolve(ctx)
	if err != nil {
		return err
	}
	s, err := h.run(ctx, program, agent.ServeCommand)
	if s.detach == nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	defer s.detach() // before cancel, which would kill ssh
	if err == nil {
		err = awaitLine(s.out, agent.Ready, func(string) error { return nil })
	}
	if err != nil {
		err = h.abandon(s, err)
		if ctx.Err() != nil { // the end of ctx has killed ssh
			err = context.Cause(ctx)
		}
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	h.answers = bounded.New(s.out, maxAnswer)
	h.client = rpc.NewClient(connection{h.answers, s.in})
	go h.awaitEnd(h.client)
	go h.renewLease(h.client, h.ended)
	if err = h.learnAddress(ctx, addresses); err != nil {
		return errors.Join(fmt.Errorf("host %s: %w", h.name, err), h.leave())
	}
	return nil
}

// abandon ends ssh after the failure err, and returns the reason: err if the host is unfit, or the message of
// ssh.
func (h *host) abandon(s streams, err error) error {
	_ = s.in.Close() // it is not used
	h.end()
	h.awaitEnd(nil)
	var wrong unfit
	if errors.As(err, &wrong) {
		return err
	}
	return h.explain()
}

// connection is the connection to an agent. Close closes the input of the agent, which then ends.
type connection struct {
	io.Reader
	io.WriteCloser
}

// awaitEnd waits until ssh has ended, then closes the client, if there is one, and the channel ended.
func (h *host) awaitEnd(client *rpc.Client) {
	if h.result = h.command.Wait(); errors.Is(h.result, exec.ErrWaitDelay) {
		h.result = nil // ssh itself has ended without an error
	}
	if client != nil {
		_ = client.Close() // it may be closed
	}
	close(h.ended)
}

// giveUp kills ssh because the agent does not answer any more.
func (h *host) giveUp() {
	h.hung.Store(true)
	h.end()
}

// explain returns why ssh has ended, with advice.
func (h *host) explain() error {
	if h.hung.Load() {
		return errors.New("its agent did not answer any more: look whether that host is short of memory or its " +
			"disk is stuck")
	}
	lines := strings.Split(strings.TrimSpace(h.stderr.String()), "\n")
	message := strings.TrimSpace(lines[len(lines)-1])
	advice := "look whether this works without a question: ssh " + h.name
	for _, known := range []struct{ text, advice string }{ // of several texts the first counts
		{"Host key verification failed", "its key is not the one that you know, or you know none: log in by " +
			"hand once, and compare: ssh " + h.name},
		{"Permission denied (", "it does not know your key, or your key asks for a passphrase: see that this " +
			"works without a question: ssh " + h.name},
		{"No space left on device", "its folder for temporary files is full: make room there, or have TMPDIR " +
			"name another for your logins"},
		{"agent: Permission denied", "programs cannot run in its folder for temporary files: have TMPDIR name " +
			"another for your logins there"},
	} {
		if strings.Contains(h.stderr.String(), known.text) {
			advice = known.advice
			break
		}
	}
	if message == "" {
		message = fmt.Sprintf("ssh has ended (%v)", h.result)
	}
	return fmt.Errorf("%s: %s", message, advice)
}

// resolve returns the addresses of the host's name in the user's configuration of ssh.
func (h *host) resolve(ctx context.Context) ([]netip.Addr, error) {
	name, _, err := Target(ctx, h.name)
	if err != nil {
		return nil, err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, fmt.Errorf("host %s: looking up %q: %w: check the name", h.name, name, err)
	}
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, nil
}

// Target returns the name or address, and the port, that ssh would call for a host.
func Target(ctx context.Context, host string) (name string, port uint16, err error) {
	text, err := exec.CommandContext(ctx, "ssh", "-G", "--", host).Output()
	if err != nil {
		return "", 0, fmt.Errorf("host %s: ssh -G: %w: look what it says: ssh -G %s", host, err, host)
	}
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
		case "hostname":
			name = value
		case "port":
			number, wrong := strconv.ParseUint(value, 10, 16)
			port = uint16(number)
			err = wrong
		}
	}
	return name, port, err
}

// learnAddress asks the agent for the address of its host, and checks that units there can be reached from
// here.
func (h *host) learnAddress(ctx context.Context, addresses []netip.Addr) error {
	var err error
	if h.probe, err = call[string](ctx, h, "Address", agent.None{}); err != nil {
		return err
	}
	if h.address, _, err = net.SplitHostPort(h.probe); err != nil {
		return err
	}
	address, err := netip.ParseAddr(h.address)
	if err != nil || !slices.Contains(addresses, address.Unmap()) {
		return fmt.Errorf("it says that its address is %s, and here it is called at %v: units there are reached "+
			"only without a relay (ProxyJump, port forwarding, NAT) between", h.address, addresses)
	}
	probe, err := (&net.Dialer{Timeout: probePatience}).DialContext(ctx, "tcp", h.probe)
	if err != nil {
		return fmt.Errorf("programs there are not reached from here: %w: let its firewall pass ports 10000 to "+
			"32767 between the hosts and this one", err)
	}
	return probe.Close()
}

// call calls a method of the agent. It gives up an agent that does not answer within callPatience.
func call[Answer any](ctx context.Context, h *host, method string, argument any) (Answer, error) {
	bound, cancel := context.WithTimeoutCause(ctx, callPatience, fmt.Errorf("no answer for %v", callPatience))
	defer cancel()
	answer, err := callUnlimited[Answer](bound, h, method, argument)
	if bound.Err() != nil && ctx.Err() == nil {
		h.giveUp()
	}
	return answer, err
}

// do calls a method of the agent that returns only an error.
func (h *host) do(ctx context.Context, method string, argument any) error {
	_, err := call[agent.None](ctx, h, method, argument)
	return err
}

// callUnlimited calls a method of the agent, and waits for its answer until the end of ctx. It discards an
// answer that comes later.
func callUnlimited[Answer any](
	ctx context.Context, h *host, method string, argument any,
) (zero Answer, err error) {
	if h.client == nil {
		return zero, errors.New("there is no connection to its agent")
	}
	answer := new(Answer)
	pending := h.client.Go(agent.Service+"."+method, argument, answer, make(chan *rpc.Call, 1))
	select {
	case <-pending.Done:
		h.answers.Next() // the limit on the size is that of one answer
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
	var refused rpc.ServerError // the method's own error: the connection works
	if pending.Error == nil || errors.As(pending.Error, &refused) {
		return *answer, pending.Error
	}
	select { // ssh may print the reason
	case <-h.ended:
		return zero, fmt.Errorf("the connection to host %s is lost: %w", h.name, h.explain())
	case <-time.After(time.Second):
		return zero, fmt.Errorf("the connection to host %s is lost: %w", h.name, pending.Error)
	}
}

// renewLease renews the lease of an agent regularly until its ssh ends. It gives up an agent that does not
// answer.
func (h *host) renewLease(client *rpc.Client, ended <-chan struct{}) {
	tick := time.NewTicker(agent.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			silent := time.AfterFunc(agent.Lease, h.giveUp)
			_ = client.Call(agent.Service+".Renew", agent.None{}, &agent.None{}) // other calls report failures
			silent.Stop()
		}
	}
}

// isConnected reports whether the agent can be called.
func (h *host) isConnected() bool {
	if h.client == nil {
		return false
	}
	select {
	case <-h.ended:
		return false
	default:
		return true
	}
}

// leave closes the connection and waits until the agent has removed everything of its conductor and has
// ended.
func (h *host) leave() error {
	if h.client == nil {
		return nil
	}
	_ = h.client.Close() // it may be closed
	h.client = nil
	select {
	case <-h.ended:
	case <-time.After(leavePatience):
		h.end()
		<-h.ended
		return fmt.Errorf("host %s: its agent has not ended after %v: it ends by itself later; remove what it "+
			"leaves there with: %s=%s cleave clean", h.name, leavePatience, Variable, h.name)
	}
	if h.result != nil {
		return fmt.Errorf("host %s: %w; remove what is left there with: %s=%s cleave clean", h.name, h.explain(),
			Variable, h.name)
	}
	return nil
}
