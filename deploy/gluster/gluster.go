// Package gluster makes a file system of which several hosts keep a copy: a volume of GlusterFS
// over hosts made of this one (package hosts). This host mounts it by FUSE, so that any folder
// here can lie on it; every write is answered when all hosts that keep it have it. One of them
// can be lost and brought back.
//
// Servers and mounts end with the conductor, however that ends. What is mounted then answers
// every call with an error, until it is unmounted with the folder that it is in (package volume).
//
// Entry points: Missing, Start; Volume.Carry for a folder, Volume.Close.
package gluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/volume"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// copies is how many hosts keep each file.
	copies = 3
	// name is the volume's.
	name = "cleave"
	// upPatience is how long a volume may take until it is mounted.
	upPatience = 2 * time.Minute
	pollEvery  = 50 * time.Millisecond
	// Client is the name and the role of the process behind the mount.
	Client = "replicated-disk"
	// Brick is the role of the processes of a host.
	Brick = "brick"
)

// Bricks returns the names of the hosts that keep the files.
func Bricks() []string {
	var all []string
	for i := range copies {
		all = append(all, Brick+"-"+strconv.Itoa(i+1))
	}
	return all
}

// Missing says what this host lacks for a volume; nil: nothing.
func Missing() error {
	err := lab.MissingPrograms("a replicated disk (GlusterFS)", map[string]string{
		"glusterd": "glusterfs-server", "glusterfs": "glusterfs-client", "gluster": "glusterfs-server",
	})
	if _, failed := os.Stat("/dev/fuse"); failed != nil {
		err = errors.Join(err, &lab.MissingError{Install: "sudo modprobe fuse",
			What: fmt.Sprintf("a replicated disk is mounted by FUSE, and this host has none (%v)", failed)})
	}
	return errors.Join(err, hosts.Missing())
}

// About says what the disk is: "GlusterFS 10.3, 3 copies".
func About() string {
	text, err := exec.Command("glusterfs", "--version").Output()
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return fmt.Sprintf("GlusterFS of unknown version, %d copies", copies)
	}
	return fmt.Sprintf("GlusterFS %s, %d copies", fields[1], copies)
}

// Volume is a volume that is mounted.
type Volume struct {
	dir      string
	hosts    *hosts.Set
	launcher *launch.Launcher
	client   *exec.Cmd // behind the mount
	said     fleet.Tail
	ended    chan struct{} // closed with the client
	closing  chan struct{}
	carried  []string // folders of this host that lie on it
}

// Start makes a volume whose copies and mount lie in dir, which is made. What is started carries
// the label. lost is called when the mount has ended although nobody asked for it.
func Start(ctx context.Context, dir, label string, lost func(error)) (_ *Volume, err error) {
	v := &Volume{dir: dir, launcher: launch.NewLauncher(), ended: make(chan struct{}),
		closing: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a replicated disk: %w", err), v.Close())
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	if v.hosts, err = hosts.Make(ctx, label, Bricks()...); err != nil {
		return nil, err
	}
	if err := fleet.SideBySide(ctx, copies, v.hosts.Hosts(), v.startServer); err != nil {
		return nil, err
	}
	if err := v.create(ctx); err != nil {
		return nil, err
	}
	if err := v.mount(ctx, label, lost); err != nil {
		return nil, err
	}
	return v, nil
}

// begin starts the server of a host, which keeps to itself what others would find at the same
// paths. Replication to other places (gsyncd) looks as if it were not installed: the server
// asks it twenty times, through Python, what it will never be told to do.
const begin = `mount -t tmpfs tmpfs /run && mkdir /run/gluster && mkdir -p /var/lib/glusterd /var/log/glusterfs &&
mount --bind "$0/state" /var/lib/glusterd && mount --bind "$0/log" /var/log/glusterfs &&
echo '#!/nowhere' >/run/absent && chmod +x /run/absent || exit
for gsyncd in /usr/lib*/glusterfs/gsyncd /usr/lib/*/glusterfs/gsyncd; do
[ ! -e "$gsyncd" ] || mount --bind /run/absent "$gsyncd" || exit; done
exec glusterd </dev/null >"$0/log/start" 2>&1`

func (v *Volume) startServer(ctx context.Context, host *hosts.Host) error {
	dir := filepath.Join(v.dir, host.Name)
	for _, folder := range []string{"state", "log", "files"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
	}
	if err := host.Run(ctx, "sh", "-c", begin, dir); err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "log", "start"))
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// create joins the hosts and makes the volume of them.
func (v *Volume) create(ctx context.Context) error {
	var places []string
	for i, host := range v.hosts.Hosts() {
		places = append(places, host.Address+":"+filepath.Join(v.dir, host.Name, "files"))
		if i == 0 {
			continue
		}
		if err := v.ask(ctx, nil, "peer", "probe", host.Address); err != nil {
			return err
		}
	}
	// A peer that has just joined may still be shaking hands; force allows the disk of the system.
	err := v.until(ctx, func() error {
		return v.ask(ctx, nil, slices.Concat([]string{"volume", "create", name, "replica", strconv.Itoa(copies)},
			places, []string{"force"})...)
	})
	if err != nil {
		return err
	}
	return v.ask(ctx, nil, "volume", "start", name)
}

// mount mounts the volume and waits until the mount has reached all copies: what is written
// before would be missing in some.
func (v *Volume) mount(ctx context.Context, label string, lost func(error)) error {
	if err := os.MkdirAll(v.at(), 0o700); err != nil {
		return err
	}
	// Files that processes of this host map into their memory together, as SQLite's, cannot be
	// read past its cache.
	args := []string{"--no-daemon", "--direct-io-mode=no", "--volfile-id=" + name, "--log-level=WARNING",
		"--log-file=" + filepath.Join(v.dir, "mount.log")}
	for _, host := range v.hosts.Hosts() {
		args = append(args, "--volfile-server="+host.Address)
	}
	v.client = exec.Command("glusterfs", append(args, v.at())...)
	v.client.Env, v.client.Dir = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + label}, "/"
	v.client.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	v.client.Stdout, v.client.Stderr = &v.said, &v.said
	if err := v.launcher.Start(v.client); err != nil {
		v.client = nil
		return err
	}
	go func() {
		defer close(v.ended)
		_ = v.client.Wait() // its state says how it ended
		select {
		case <-v.closing:
		default:
			lost(fmt.Errorf("the replicated disk is gone: %s ended (%v)%s", Client, v.client.ProcessState,
				v.said.LastWords()))
		}
	}()
	return v.until(ctx, func() error {
		var found unix.Statfs_t
		if err := unix.Statfs(v.at(), &found); err != nil || found.Type != unix.FUSE_SUPER_MAGIC {
			return errors.Join(errors.New("nothing is mounted"), err)
		}
		for _, brick := range Bricks() {
			if reached, err := v.reaches(brick); err != nil || !reached {
				return errors.Join(fmt.Errorf("the mount does not reach %s", brick), err)
			}
		}
		return nil
	})
}

// at returns where the volume is mounted.
func (v *Volume) at() string { return filepath.Join(v.dir, "mount") }

// until does something until it is right, or the mount or ctx has ended.
func (v *Volume) until(ctx context.Context, try func() error) error {
	return fleet.Until(ctx, pollEvery, func() (bool, error) {
		select {
		case <-v.ended:
			return true, fmt.Errorf("the mount has ended%s", v.said.LastWords())
		default:
			err := try()
			return err == nil, err
		}
	})
}

// Carry has a folder of this host, which is there and empty, lie on the volume.
func (v *Volume) Carry(folder string) error {
	inside, err := os.MkdirTemp(v.at(), filepath.Base(folder)+"-")
	if err == nil {
		err = unix.Mount(inside, folder, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("put %s on the replicated disk: %w", folder, err)
	}
	v.carried = append(v.carried, folder)
	return nil
}

// Units returns the processes that keep the files, host by host, and the one behind the mount.
func (v *Volume) Units() []lab.Unit {
	units := []lab.Unit{{Name: Client, Role: Client, PID: v.client.Process.Pid}}
	for _, host := range v.hosts.Hosts() {
		units = append(units, lab.Unit{Name: host.Name, Role: Brick, PID: host.First(), Span: lab.SpanBelow})
	}
	return units
}

// Close unmounts what lies on the volume, ends its servers and removes its files.
func (v *Volume) Close() (err error) {
	close(v.closing)
	for _, folder := range v.carried {
		err = errors.Join(err, volume.UnmountBelow(folder))
	}
	err = errors.Join(err, volume.UnmountBelow(v.dir))
	if v.client != nil {
		_ = v.client.Process.Kill() // it ends with what is mounted
		<-v.ended
	}
	if v.hosts != nil {
		err = errors.Join(err, v.hosts.Close())
	}
	v.launcher.Close()
	return errors.Join(err, os.RemoveAll(v.dir))
}
