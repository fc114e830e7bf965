package run

import (
	"fmt"
	"syscall"
)

// fullBelow is the number of free bytes below which a disk counts as full. It is above 0 because logs and
// databases that need a larger block fail before the last byte is used.
const fullBelow = 1 << 20

// withFullDisk returns the error of a trial, which may be nil, and puts another in front of it if the disk of
// a directory is full: errors of units and servers seldom mention the disk. It must be called before the
// files of the trial are removed.
func withFullDisk(dir string, err error) error {
	var disk syscall.Statfs_t
	if syscall.Statfs(dir, &disk) != nil {
		return err // the disk is unknown: the directory may not exist
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if free >= fullBelow {
		return err
	}
	full := fmt.Errorf("the disk that holds %s is full (%d bytes are free): free some space, or set TMPDIR to "+
		"a folder on another disk", dir, free)
	if err == nil {
		return full
	}
	return fmt.Errorf("%w: %w", full, err)
}
