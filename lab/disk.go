package lab

import (
	"fmt"
	"slices"
)

// KnobDisk is the knob of systems whose backing services can store their data either on the disk
// of the host or on a replicated disk, a file system of which several hosts have a copy.
const (
	KnobDisk       = "disk"
	DiskLocal      = "local"
	DiskReplicated = "replicated"
)

// OnReplicatedDisk reports whether a service of the layout needs a replicated disk.
func (l Layout) OnReplicatedDisk() bool {
	return slices.ContainsFunc(l.Services, func(s ServiceSpec) bool { return s.Replicated })
}

// CheckDisk returns an error if a deployer has no replicated disk.
func CheckDisk(d Deployer) error {
	if d.Can().Disk != nil {
		return nil
	}
	return fmt.Errorf("%s %s: the deployment %s has no replicated disk: deploy with %s, or have %s %s",
		KnobDisk, DiskReplicated, d.Name(), Process, KnobDisk, DiskLocal)
}
