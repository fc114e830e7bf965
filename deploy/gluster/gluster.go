// Package gluster makes a replicated file system: a GlusterFS volume of which several simulated hosts
// (package hosts) keep a copy. This host mounts it by FUSE, so that folders of this host can be on it. A
// write returns when all hosts have it. A host can be lost and brought back.
//
// Servers and mounts end with the conductor, however that ends. A mount without its servers answers every
// call with an error, until package volume unmounts it.
//
// Entry points: Missing, Start; Volume.MountOver for a folder, Volume.Close.
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
	// copies is the number of hosts that keep a copy of each file.
	copies = 3
	// name is the name of the volume.
	name = "cleave"
	// upPatience limits how long a volume may take until it is mounted.
	upPatience = 2 * time.Minute
	// pollInterval is the pause between two checks while we wait for a state.
	pollInterval = 50 * time.Millisecond
	// Client is the name and the role of the process that serves the mount.
	Client = "replicated-disk"
	// Brick is the role of the server processes of a host, which keep its copy.
	Brick = "brick"
)

// Bricks returns the names of the hosts that keep copies.
func Bricks() []string {
	var all []string
	for i := range copies {
		all = append(all, Brick+"-"+strconv.Itoa(i+1))
	}
	return all
}

// Missing returns an error that names what this host lacks for a volume, or nil.
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

// About describes the file system, such as "GlusterFS 10.3, 3 copies".
func About() string {
	text, err := exec.Command("glusterfs", "--version").Output()
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return fmt.Sprintf("GlusterFS of unknown version, %d copies", copies)
	}
	return fmt.Sprintf("GlusterFS %s, %d copies", fields[1], copies)
}

// Volume is a mounted volume.
type Volume struct {
	dir      string
	hosts    *hosts.Set
	launcher *launch.Launcher
	client   *exec.Cmd     // serves the mount
	log      fleet.Tail    // of the client
	ended    chan struct{} // closed when the client has ended
	closing  chan struct{} // closed when Close begins
	over     []string      // folders of this host over which folders of the volume are mounted
}

// Start makes a volume, and makes dir for its copies and its mount. Its processes carry the label. lost is
// called if the mount ends before Close.
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

// begin is the script that starts glusterd on a host. It mounts separate folders at the paths of glusterd's
// state and log, which all hosts would share otherwise. It also hides geo-replication (gsyncd), which is not
// used: glusterd would run that Python program twenty times at its start. $0 is the folder of the host.
const begin = `mount -t tmpfs tmpfs /run && mkdir /run/gluster && mkdir -p /var/lib/glusterd /var/log/glusterfs &&
mount --bind "$0/state" /var/lib/glusterd && mount --bind "$0/log" /var/log/glusterfs &&
echo '#!/nowhere' >/run/absent && chmod +x /run/absent || exit
for gsyncd in /usr/lib*/glusterfs/gsyncd /usr/lib/*/glusterfs/gsyncd; do
[ ! -e "$gsyncd" ] || mount --bind /run/absent "$gsyncd" || exit; done
exec glusterd </dev/null >"$0/log/start" 2>&1`

// startServer starts glusterd on a host.
func (v *Volume) startServer(ctx context.Context, host *hosts.Host) error {
	dir := filepath.Join(v.dir, host.Name)
	for _, folder := range []string{"state", "log", "files"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
	}
	if err := host.Run(ctx, "sh", "-c", begin, dir); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log", "start")) // there may be none
		return fmt.Errorf("%w: %s", err, log)
	}
	return nil
}

// create joins the hosts to a cluster, and creates and starts the volume.
func (v *Volume) create(ctx context.Context) error {
	var bricks []string
	for i, host := range v.hosts.Hosts() {
		bricks = append(bricks, host.Address+":"+filepath.Join(v.dir, host.Name, "files"))
		if i == 0 {
			continue
		}
		if err := v.ask(ctx, nil, "peer", "probe", host.Address); err != nil {
			return err
		}
	}
	// It is repeated, since the handshake with a new peer may not be complete. force allows bricks on the root
	// disk.
	err := v.until(ctx, func() error {
		return v.ask(ctx, nil, slices.Concat([]string{"volume", "create", name, "replica", strconv.Itoa(copies)},
			bricks, []string{"force"})...)
	})
	if err != nil {
		return err
	}
	// With eager locks the mount notes only after the last of a series of writes that a brick has missed some.
	// It would take a brick that comes back before for complete, and read old content from it: SQLite found its
	// databases malformed.
	if err := v.ask(ctx, nil, "volume", "set", name, "cluster.eager-lock", "off"); err != nil {
		return err
	}
	return v.ask(ctx, nil, "volume", "start", name)
}

// mount mounts the volume and waits until the mount has connected to all bricks: earlier writes would be
// missing in some copies.
func (v *Volume) mount(ctx context.Context, label string, lost func(error)) error {
	if err := os.MkdirAll(v.mountPath(), 0o700); err != nil {
		return err
	}
	// Direct I/O would bypass the page cache, which processes share that map a file into memory, as with SQLite.
	args := []string{"--no-daemon", "--direct-io-mode=no", "--volfile-id=" + name, "--log-level=WARNING",
		"--log-file=" + filepath.Join(v.dir, "mount.log")}
	for _, host := range v.hosts.Hosts() {
		args = append(args, "--volfile-server="+host.Address)
	}
	v.client = exec.Command("glusterfs", append(args, v.mountPath())...)
	v.client.Env = []string{"PATH=" + os.Getenv("PATH"), "CLEAVE_RUN=" + label}
	v.client.Dir = "/"
	v.client.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	v.client.Stdout = &v.log
	v.client.Stderr = &v.log
	if err := v.launcher.Start(v.client); err != nil {
		v.client = nil
		return err
	}
	go func() {
		defer close(v.ended)
		_ = v.client.Wait() // ProcessState holds the result
		select {
		case <-v.closing:
		default:
			lost(fmt.Errorf("the replicated disk is gone: %s ended (%v)%s", Client, v.client.ProcessState,
				v.log.LastWords()))
		}
	}()
	return v.until(ctx, func() error {
		var found unix.Statfs_t
		if err := unix.Statfs(v.mountPath(), &found); err != nil || found.Type != unix.FUSE_SUPER_MAGIC {
			return errors.Join(errors.New("nothing is mounted"), err)
		}
		for _, brick := range Bricks() {
			if err := v.checkReached(brick, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// mountPath returns the path at which this host mounts the volume.
func (v *Volume) mountPath() string { return filepath.Join(v.dir, "mount") }

// until repeats try until it succeeds, or the mount or ctx has ended.
func (v *Volume) until(ctx context.Context, try func() error) error {
	return fleet.Until(ctx, pollInterval, func() (bool, error) {
		select {
		case <-v.ended:
			return true, fmt.Errorf("the mount has ended%s", v.log.LastWords())
		default:
			err := try()
			return err == nil, err
		}
	})
}

// MountOver mounts a new folder of the volume over an existing, empty folder of this host.
func (v *Volume) MountOver(folder string) error {
	inside, err := os.MkdirTemp(v.mountPath(), filepath.Base(folder)+"-")
	if err == nil {
		err = unix.Mount(inside, folder, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("put %s on the replicated disk: %w", folder, err)
	}
	v.over = append(v.over, folder)
	return nil
}

// Units returns the process that serves the mount, and then the server processes of each host, for a meter.
func (v *Volume) Units() []lab.Unit {
	units := []lab.Unit{{Name: Client, Role: Client, PID: v.client.Process.Pid}}
	for _, host := range v.hosts.Hosts() {
		units = append(units, lab.Unit{Name: host.Name, Role: Brick, PID: host.First(), Span: lab.SpanBelow})
	}
	return units
}

// Close unmounts the volume and its folders over those of this host, ends its processes and removes its
// files.
func (v *Volume) Close() (err error) {
	close(v.closing)
	for _, folder := range v.over {
		err = errors.Join(err, volume.UnmountBelow(folder))
	}
	err = errors.Join(err, volume.UnmountBelow(v.dir))
	if v.client != nil {
		_ = v.client.Process.Kill() // the unmount may have ended it
		<-v.ended
	}
	err = errors.Join(err, v.hosts.Close())
	v.launcher.Close()
	return errors.Join(err, os.RemoveAll(v.dir))
}
