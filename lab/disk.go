package lab

import (
	"fmt"
	"slices"
)

// KnobDisk is the knob of systems that let their backing services keep what they hold either on
// the disk of the host or on a replicated one: a file system of which several hosts have a copy.
const (
	KnobDisk       = "disk"
	DiskLocal      = "local"
	DiskReplicated = "replicated"
)

// Replicator is what a deployer is that can put volumes on a replicated disk.
type Replicator interface {
	// DiskAbout says what the disk is: "GlusterFS 10.3, 3 copies".
	DiskAbout() string
}

// OnReplicatedDisk reports whether a part of the layout shall lie on a replicated disk.
func (l Layout) OnReplicatedDisk() bool {
	return slices.ContainsFunc(l.Services, func(s ServiceSpec) bool { return s.Replicated })
}

// ReplicatorOf returns the deployer as one that has a replicated disk, or why it has none.
func ReplicatorOf(d Deployer) (Replicator, error) {
	replicator, can := d.(Replicator)
	if !can {
		return nil, fmt.Errorf("%s %s: the deployment %s has no replicated disk: deploy with %s, or have %s %s",
			KnobDisk, DiskReplicated, d.Name(), Process, KnobDisk, DiskLocal)
	}
	return replicator, nil
}
