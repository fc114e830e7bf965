// Package dockertest gives tests and benches a Docker daemon. Start and Reach use the one that answers on
// this host, or else a private one, which they start and end; Private and Shared always start a private one.
//
// A private daemon has its data, its containerd and its socket in a folder of its
// own and leaves this host's packet filter and its network alone: it has no
// docker0, and what a container publishes goes through docker-proxy.
package dockertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// patience bounds how long a daemon may take to start or to end on a busy host.
const patience = 2 * time.Minute

// Daemon is a private daemon.
type Daemon struct {
	dir    string
	host   string
	pid    int
	output *bytes.Buffer // may be read after ended is closed
	ended  chan struct{}
}

// Start gives the test, and the programs that it starts, a Docker daemon. It skips the
// test if none answers and none can be started.
func Start(t *testing.T) {
	t.Helper()
	testset.Need(t, "it runs containers")
	if !answers("") {
		Private(t)
	}
}

// Private starts a daemon for this test alone, which may kill it or give it options. It skips the test if
// none can be started.
func Private(t *testing.T, options ...string) *Daemon {
	t.Helper()
	testset.Need(t, "it starts a Docker daemon")
	d, err := run(options...)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("DOCKER_HOST", d.host)
	return d
}

// Reach gives this program a Docker daemon, as Start does for a test. stop ends the daemon if one was
// started. It fails if no daemon can run containers.
func Reach() (stop func() error, err error) {
	if answers("") {
		return func() error { return nil }, nil
	}
	d, err := run()
	if err != nil {
		return nil, err
	}
	return d.end, os.Setenv("DOCKER_HOST", d.host)
}

// run starts a private daemon that can run containers.
func run(options ...string) (*Daemon, error) {
	for _, program := range []string{"docker", "dockerd"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("docker is not installed here: %w; on Debian: apt-get install docker.io "+
				"docker-compose", err)
		}
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can start a Docker daemon: run this as root")
	}
	dir, err := os.MkdirTemp("", "cleave-dockerd-") // short: sockets are in it
	if err != nil {
		return nil, fmt.Errorf("make a folder for Docker: %w", err)
	}
	var d *Daemon
	if err = watch(dir); err == nil {
		d, err = start(dir, options)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := d.await(); err != nil {
		return nil, errors.Join(err, d.end())
	}
	if err := d.runContainer(); err != nil { // as without cgroups, or without the right to make network devices
		return nil, errors.Join(fmt.Errorf("the Docker daemon cannot run containers here: %w", err), d.end())
	}
	return d, nil
}

// end ends the daemon and removes its containers, networks and data.
func (d *Daemon) end() error {
	stopped := d.stop()
	output, err := exec.Command("sh", "-c", cleanup, "sh", d.dir).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("remove what a Docker daemon has left: %w: %s", err, output)
	}
	return errors.Join(stopped, err)
}

// Kill ends the daemon with SIGKILL. Its containers run on.
func (d *Daemon) Kill() {
	_ = syscall.Kill(d.pid, syscall.SIGKILL) // it runs until then
	<-d.ended
}

// Again restarts a daemon that was killed, with its data and without the options of Private.
func (d *Daemon) Again(t *testing.T) {
	t.Helper()
	again, err := start(d.dir, nil)
	if err == nil {
		*d = *again
		err = d.await()
	}
	if err != nil {
		t.Skip(err)
	}
}

// Image builds an image that starts one program, and removes it after the test. The program must be linked
// statically.
func Image(t *testing.T, name, program string) {
	t.Helper()
	if err := Build(name, program); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = docker("", "rmi", "--force", name) })
}

// Build builds an image that starts one program, which must be linked statically. The image stays.
func Build(name, program string) error {
	dir, err := os.MkdirTemp("", "cleave-image-")
	if err != nil {
		return fmt.Errorf("make a folder for an image: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "program"), binary, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Dockerfile"),
			[]byte("FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n"), 0o644)
	}
	if err == nil {
		_, err = docker("", "build", "--quiet", "--tag", name, dir)
	}
	return err
}

// answers reports whether the daemon of a host answers, as docker takes it.
func answers(host string) bool {
	_, err := docker(host, "version", "--format", "{{.Server.Version}}")
	return err == nil
}

// docker runs a command against the daemon of a host; the empty host is the one
// that the environment names.
func docker(host string, args ...string) (string, error) {
	command := exec.Command("docker", args...)
	if host != "" {
		command.Env = append(os.Environ(), "DOCKER_HOST="+host)
	}
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// janitor is a shell script that runs until the program that started a daemon ends, waits up to two minutes,
// the patience with a daemon, for the daemon's end, and cleans up what it has left. Nothing is left if the
// program has called end.
const janitor = `read -r _
process=/proc/$(cat "$1/pid")
for _ in $(seq 600); do [ ! -e "$process/exe" ] || sleep 0.2; done
` + cleanup

// cleanup is a shell script that removes what a daemon that has ended leaves in its folder and outside of
// it. A killed daemon leaves its containerd and the shims of containers, whose command lines contain the
// folder, and the processes of containers, whose control groups contain the containers' IDs. Any daemon may
// leave bridges of networks, and mounts.
const cleanup = `left() {
  grep --no-messages --files-with-matches --text --fixed-strings "$1/exec/" /proc/[0-9]*/cmdline
  find "$1/data/containers" -maxdepth 1 -printf '%f\n' | grep '^[0-9a-f]\{64\}$' |
    grep --no-messages --files-with-matches --fixed-strings --file=- /proc/[0-9]*/cgroup
}
for _ in $(seq 100); do
  processes=$(left "$1" | cut -d/ -f3)
  [ -n "$processes" ] || break
  kill -s KILL $processes
  sleep 0.1
done
grep --text --only-matching 'br-[0-9a-f]\{12\}' "$1/data/network/files/local-kv.db" | sort -u |
  xargs --no-run-if-empty --max-args=1 ip link delete
grep --only-matching "$1/[^ ]*" /proc/mounts | sort -r | xargs --no-run-if-empty umount --lazy
rm -rf "$1"`

// watch starts the janitor of a folder. It sees the end of this process at the end of a pipe, whose write
// end is never closed otherwise.
func watch(dir string) error {
	command := exec.Command("sh", "-c", janitor, "sh", dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to this process's group must not end it
	var pipe [2]int
	err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC)
	if err == nil {
		readEnd := os.NewFile(uintptr(pipe[0]), "pipe")
		command.Stdin = readEnd
		err = errors.Join(command.Start(), readEnd.Close())
	}
	if err != nil {
		return fmt.Errorf("start the janitor of a Docker daemon: %w", err)
	}
	return nil
}

// start starts a daemon in a folder. It ends with this process, however that ends.
func start(dir string, options []string) (*Daemon, error) {
	d := &Daemon{dir: dir, host: "unix://" + filepath.Join(dir, "sock"), output: new(bytes.Buffer),
		ended: make(chan struct{})}
	command := exec.Command("dockerd", append(options, "--host", d.host, "--pidfile", filepath.Join(dir, "pid"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false", "--log-level", "warn")...)
	command.Stdout = d.output
	command.Stderr = d.output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	command.WaitDelay = time.Second // its containerd may run on and keep the output open
	launcher := launch.NewLauncher()
	if err := launcher.Start(command); err != nil {
		launcher.Close()
		return nil, fmt.Errorf("the Docker daemon cannot be started here: %w", err)
	}
	go func() {
		_ = command.Wait() // its output says more
		launcher.Close()
		close(d.ended)
	}()
	d.pid = command.Process.Pid
	return d, nil
}

// await waits until the daemon answers. It fails if the daemon ends, as without cgroups or in a container
// that may not make others.
func (d *Daemon) await() error {
	for deadline := time.Now().Add(patience); !answers(d.host); time.Sleep(50 * time.Millisecond) {
		select {
		case <-d.ended:
			return fmt.Errorf("the Docker daemon cannot be started here: %s", d.lastWords())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the Docker daemon does not answer for %v", patience)
		}
	}
	return nil
}

// stop ends the daemon's process, with its containers and networks.
func (d *Daemon) stop() error {
	select {
	case <-d.ended:
		return nil // it could not be started
	default:
	}
	err := d.empty()
	if err != nil {
		err = fmt.Errorf("remove what is left in Docker: %w", err)
	}
	_ = syscall.Kill(d.pid, syscall.SIGTERM) // it may have ended by now
	select {
	case <-d.ended:
		return err
	case <-time.After(patience):
		return errors.Join(err, fmt.Errorf("the Docker daemon (process %d) does not end for %v", d.pid, patience))
	}
}

// empty removes the containers and networks that a failed test has left. The bridges of networks belong to
// this host and would outlive the daemon.
func (d *Daemon) empty() error {
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "--all", "--quiet"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls", "--quiet", "--filter", "type=custom"}, []string{"network", "rm"}},
	} {
		ids, err := docker(d.host, kind.list...)
		if names := strings.Fields(ids); err == nil && len(names) > 0 {
			_, err = docker(d.host, append(kind.remove, names...)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lastWords returns the last line of the output of a daemon that has ended.
func (d *Daemon) lastWords() string {
	lines := strings.Split(strings.TrimSpace(d.output.String()), "\n")
	return fmt.Sprintf("%q", lines[len(lines)-1])
}

const (
	// probeName is the name of the probe's image and of its network.
	probeName = "cleave-dockertest"
	// emptyArchive is the number of zero bytes that are an empty tar archive.
	emptyArchive = 1024
)

// runContainer checks that the daemon can run a container: it runs docker-init, the only program that every
// daemon has, in an otherwise empty container with a network of its own.
func (d *Daemon) runContainer() error {
	path := filepath.Join(d.dir, "empty.tar")
	if err := os.WriteFile(path, make([]byte, emptyArchive), 0o600); err != nil {
		return err
	}
	subnet := fmt.Sprintf("198.18.%d.0/24", d.pid%256) // other tests probe at the same time, with another pid
	for _, args := range [][]string{
		{"import", path, probeName},
		{"network", "create", "--subnet", subnet, probeName},
		{"run", "--rm", "--init", "--network", probeName, "--entrypoint", "/sbin/docker-init", probeName,
			"--version"},
		{"network", "rm", probeName},
		{"rmi", probeName},
	} {
		if _, err := docker(d.host, args...); err != nil {
			return err
		}
	}
	return nil
}
