package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/lab"
)

// diskFolder is the folder of a trial with the copies of its replicated disk.
const diskFolder = "replicated-disk"

// replicate starts a replicated disk and moves the layout's replicated folders and volumes to it; it does
// nothing if there are none.
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
		if err := d.disk.MountOver(folder); err != nil {
			return err
		}
	}
	return nil
}

// bricks returns the servers that keep the copies of the replicated disk.
func (d *deployment) bricks() []lab.Unit {
	if d.disk == nil {
		return nil
	}
	return d.disk.Units()
}
