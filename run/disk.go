package run

import (
	"fmt"
	"syscall"
)

// fullBelow is the number of free bytes below which a disk counts as full. Logs and databases grow in larger
// steps.
const fullBelow = 1 << 20

// fullDisk returns the error of a trial, which may be nil. If the disk of a directory is full, it adds that:
// errors of units and servers seldom mention the disk. It has to be called before their files are removed.
func fullDisk(dir string, err error) error {
	var disk syscall.Statfs_t
	if syscall.Statfs(dir, &disk) != nil {
		return err // the disk is unknown: the directory may not exist
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
