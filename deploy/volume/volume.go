// Package volume makes folders of units that can become full: each is a file system of its
// own in memory (tmpfs). It becomes full when its size is set to that of its content. That
// affects neither other units nor the host's disk.
//
// Entry points: Prepare, Fill, Drain; UnmountBelow before a folder is removed.
package volume

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// kind is the file system of volumes.
	kind = "tmpfs"
	// size is the size of a volume that is not filled, in bytes; tmpfs takes memory only
	// for its content.
	size = 4 << 30
	// fillAttempts bounds the attempts to fill a volume. One fails if the unit writes
	// between the look at the used space and the change of the size.
	fillAttempts = 100
)

// Prepare makes the volumes of units that have the fault fill. folder returns the folder of a unit, and
// show makes it visible to hosts with mounts of their own; nil: there are none.
func Prepare(
	units []lab.UnitSpec, folder func(lab.UnitSpec) string, show func(folder string) error,
) error {
	made := map[string]bool{} // units may share one
	for _, spec := range units {
		at := folder(spec)
		if made[at] || !slices.Contains(spec.Faults, lab.FaultFill) {
			continue
		}
		err := mount(at)
		if err == nil && show != nil {
			err = show(at)
		}
		if err != nil {
			return fmt.Errorf("unit %s: %w", spec.Name, err)
		}
		made[at] = true
	}
	return nil
}

// mount makes a folder and mounts a file system of its own there.
func mount(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(kind, folder, kind, unix.MS_NOSUID|unix.MS_NODEV, options(size)); err != nil {
		return fmt.Errorf("mount a volume of its own at %s: %w", folder, err)
	}
	return nil
}

// options returns the mount options for a volume of a size.
func options(bytes uint64) string { return fmt.Sprintf("size=%d,mode=0700", bytes) }

// CheckFaults refuses units that have the fault fill if this process may not mount volumes.
func CheckFaults(units []lab.UnitSpec) error {
	for _, spec := range units {
		if slices.Contains(spec.Faults, lab.FaultFill) && os.Geteuid() != 0 {
			return fmt.Errorf("the volume of unit %s is to become full, so it needs a file system of its own, which "+
				"only root can mount: run cleave as root", spec.Name)
		}
	}
	return nil
}

// Fill makes the volume as small as its content. The proof is that the kernel refuses to write more.
func Fill(folder string) (proof string, err error) {
	if mounted, err := below(folder); err != nil || !slices.Contains(mounted, folder) {
		return "", errors.Join(fmt.Errorf("the folder %s is no volume of its own: nobody said before the trial "+
			"that it would be filled", folder), err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, root.Close()); err != nil { // nobody heals a fault that failed
			err = errors.Join(err, Drain(folder))
		}
	}()
	for range fillAttempts {
		var now unix.Statfs_t
		if err := unix.Statfs(folder, &now); err != nil {
			return "", fmt.Errorf("look at the volume %s: %w", folder, err)
		}
		used := (now.Blocks - now.Bfree) * uint64(now.Bsize)
		// An empty volume gets one block: size=0 would be no limit.
		err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV,
			options(max(used, uint64(now.Bsize))))
		if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: more is used by now
			return "", fmt.Errorf("fill the volume %s: %w", folder, err)
		}
		refused := tryToWrite(root, 2*now.Bsize)
		if errors.Is(refused, unix.ENOSPC) {
			return fmt.Sprintf("%d KiB are in its volume, and %d more bytes were refused: %v", used>>10, 2*now.Bsize,
				unix.ENOSPC), nil
		}
		if refused != nil {
			return "", refused
		}
	}
	return "", fmt.Errorf("the volume %s did not become full in %d attempts", folder, fillAttempts)
}

// tryToWrite writes a file of a size and removes it. The unit owns the folder and may have put links
// there, so the name is random, must be new, and stays in the folder.
func tryToWrite(root *os.Root, bytes int64) error {
	name := "cleave-probe-" + rand.Text()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, bytes))
	return errors.Join(err, file.Close(), root.Remove(name))
}

// Drain gives a filled volume its size back.
func Drain(folder string) error {
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV,
		options(size)); err != nil {
		return fmt.Errorf("make room in the volume %s: %w", folder, err)
	}
	return nil
}

// UnmountBelow unmounts everything in a folder, so that the folder can be removed.
func UnmountBelow(folder string) error {
	mounted, err := below(folder)
	for _, point := range slices.Backward(mounted) {
		err = errors.Join(err, unmount(point))
	}
	return err
}

// unmount unmounts a mount point. It aborts requests to a file system whose server process was killed, for
// which the kernel would wait for ever.
func unmount(point string) error {
	if err := unix.Unmount(point, unix.MNT_DETACH|unix.MNT_FORCE|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("unmount %s: %w: type: umount -l %s", point, err, point)
	}
	return nil
}

// below returns the mount points at and in a folder.
func below(folder string) ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return pointsBelow(file, folder)
}

// pointsBelow returns the mount points at and in a folder from proc_pid_mountinfo(5), which has blanks and
// backslashes as octal numbers.
func pointsBelow(mountinfo io.Reader, folder string) ([]string, error) {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			return nil, fmt.Errorf("/proc/self/mountinfo has the line %q", lines.Text())
		}
		if point := plain.Replace(fields[4]); point == folder || strings.HasPrefix(point, folder+"/") {
			points = append(points, point)
		}
	}
	return points, lines.Err()
}
