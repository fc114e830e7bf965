package run

import (
	"fmt"
	"syscall"
)

// fullBelow is the number of free bytes below which a disk is full: no log or database grows by less.
const fullBelow = 1 << 20

// fullDisk returns the error of a trial, which may be nil, and says in it if the disk of a directory is full:
// units and servers seldom name the disk. It is called while what they have written is still there.
func fullDisk(dir string, err error) error {
	var disk syscall.Statfs_t
	if syscall.Statfs(dir, &disk) != nil {
		return err // without the directory nothing is known of its disk
	}
	free := disk.Bavail * uint64(disk.Bsize)
	switch {
	case free >= fullBelow:
		return err
	case err == nil:
		return fmt.Errorf("the disk that holds %s is full (%d bytes are free): make room, or have another used "+
			"with TMPDIR", dir, free)
	}
	return fmt.Errorf("%w: %w", fullDisk(dir, nil), err)
}
