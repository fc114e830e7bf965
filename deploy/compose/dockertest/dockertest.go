// Package dockertest gives tests a Docker daemon: the one that answers on this
// host, or else a private one, which they start and end. It is for tests only.
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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Starting and ending take as long on a busy host.
const patience = 2 * time.Minute

// Start lets the test, and the programs that it starts, reach a Docker daemon. Where
// there is none and none can be started the test is skipped, with the reason.
func Start(t *testing.T) {
	t.Helper()
	testset.Need(t, "it runs containers")
	if !answers("") {
		Private(t)
	}
}

// Private is Start for a test that needs a daemon of its own, for example to kill it, or with options of its
// own.
func Private(t *testing.T, options ...string) *Daemon {
	t.Helper()
	testset.Need(t, "it starts a Docker daemon")
	for _, program := range []string{"docker", "dockerd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("Docker is not installed here: %v; on Debian: apt-get install docker.io docker-compose", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a Docker daemon: run the tests as root")
	}
	dir, err := os.MkdirTemp("", "cleave-dockerd-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A daemon that could not start leaves its data mounted on itself, and one that
		// had containers in the host's network a mount of that.
		_ = syscall.Unmount(filepath.Join(dir, "data"), syscall.MNT_DETACH)
		_ = syscall.Unmount(filepath.Join(dir, "exec", "netns", "default"), syscall.MNT_DETACH)
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove what Docker has left: %v", err)
		}
	})
	d := start(t, dir, options)
	t.Cleanup(func() {
		d.stop(t)
		d.endOrphans()
	})
	d.await(t)
	d.probe(t)
	t.Setenv("DOCKER_HOST", d.host)
	return d
}

// Kill ends the daemon with SIGKILL. Its containers go on.
func (d *Daemon) Kill() {
	_ = syscall.Kill(d.pid, syscall.SIGKILL) // it runs until then
	<-d.ended
}

// endOrphans ends what a daemon that was killed has left running: its containerd, and
// the shims of its containers, which the next daemon does not take over. All of them
// name the daemon's folder.
func (d *Daemon) endOrphans() {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte("containerd")) &&
			bytes.Contains(line, []byte(d.dir+"/exec/")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may end by itself
		}
	}
}

// Again starts a daemon that was killed, with what it had.
func (d *Daemon) Again(t *testing.T) {
	t.Helper()
	*d = *start(t, d.dir, nil)
	d.await(t)
}

// Image makes an image, for the time of the test, that has one program and starts
// it. The program must be linked statically.
func Image(t *testing.T, name, program string) {
	t.Helper()
	dir := t.TempDir()
	binary, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "program"), binary, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Dockerfile"),
			[]byte("FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docker("", "build", "--quiet", "--tag", name, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = docker("", "rmi", "--force", name) })
}

// answers reports whether a daemon answers.
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

// Daemon is a private daemon.
type Daemon struct {
	dir   string
	host  string
	pid   int
	said  *bytes.Buffer // to be read when it has ended
	ended chan struct{}
}

// start starts a daemon in a folder. It ends with this process, however that ends.
func start(t *testing.T, dir string, options []string) *Daemon {
	d := &Daemon{dir: dir, host: "unix://" + filepath.Join(dir, "sock"), said: new(bytes.Buffer),
		ended: make(chan struct{})}
	command := exec.Command("dockerd", append(options, "--host", d.host, "--pidfile", filepath.Join(dir, "pid"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false", "--log-level", "warn")...)
	command.Stdout, command.Stderr = d.said, d.said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	command.WaitDelay = time.Second // its containerd may go on, with its output
	launcher := launch.NewLauncher()
	if err := launcher.Start(command); err != nil {
		launcher.Close()
		t.Skipf("Docker's daemon cannot be started here: %v", err)
	}
	go func() {
		_ = command.Wait() // what it said tells more
		launcher.Close()
		close(d.ended)
	}()
	d.pid = command.Process.Pid
	return d
}

// await waits until the daemon answers. One that gives up, in a container that may
// not make others or without cgroups, is a reason to skip.
func (d *Daemon) await(t *testing.T) {
	for deadline := time.Now().Add(patience); !answers(d.host); time.Sleep(50 * time.Millisecond) {
		select {
		case <-d.ended:
			t.Skipf("Docker's daemon cannot be started here: %s", d.lastWords())
		default:
		}
		if time.Now().After(deadline) {
			t.Skipf("Docker's daemon does not answer for %v", patience)
		}
	}
}

// stop ends the daemon.
func (d *Daemon) stop(t *testing.T) {
	select {
	case <-d.ended:
		return // it could not be started
	default:
	}
	if err := d.empty(); err != nil {
		t.Errorf("remove what is left in Docker: %v", err)
	}
	_ = syscall.Kill(d.pid, syscall.SIGTERM) // it may have ended by now
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Errorf("Docker's daemon (process %d) does not end for %v", d.pid, patience)
	}
}

// empty removes the containers and networks of a test that failed: the bridges of
// networks are this host's and would stay when the daemon ends.
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

// lastWords returns the end of what a daemon that has ended said.
func (d *Daemon) lastWords() string {
	lines := strings.Split(strings.TrimSpace(d.said.String()), "\n")
	return fmt.Sprintf("%q", lines[len(lines)-1])
}
