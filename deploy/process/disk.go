package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/lab"
)

// diskFolder is the folder of a trial with the copies of its replicated disk.
const diskFolder = "replicated-disk"

// replicate puts on a replicated disk what shall lie there.
func (d *deployment) replicate(ctx context.Context, layout lab.Layout) (err error) {
	folders := slices.Clone(layout.Replicated)
	for _, spec := range layout.Units {
		if !spec.Replicated {
			continue
		}
		if err := os.MkdirAll(d.Volume(spec), 0o700); err != nil {
			return err
		}
		folders = append(folders, d.Volume(spec))
	}
	if len(folders) == 0 {
		return nil
	}
	if d.disk, err = gluster.Start(ctx, filepath.Join(d.group.dir, diskFolder), d.group.label,
		d.Fail); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := d.disk.Carry(folder); err != nil {
			return err
		}
	}
	return nil
}

// closeDisk ends the replicated disk when all that has files on it has ended.
func (d *deployment) closeDisk(all []*unit) (err error) {
	if d.disk == nil {
		return nil
	}
	for _, u := range all {
		if !u.Spec.Foreign { // else its keeper ends it
			err = errors.Join(err, u.kill())
		}
	}
	for _, u := range all {
		<-u.Ended
	}
	return errors.Join(err, d.disk.Close())
}

// bricks returns what keeps the copies of the replicated disk.
func (d *deployment) bricks() []lab.Unit {
	if d.disk == nil {
		return nil
	}
	return d.disk.Units()
}
