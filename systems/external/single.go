package external

import (
	"os"

	"github.com/cleave-lab/cleave/lab"
)

// Single returns the reasons why services cannot run twice, by service: they keep data or have a static
// address. Services with several replicas in their file can; services that end by themselves do not matter. A
// definition with services always has the project that they come from.
func (d *Definition) Single() map[string]string {
	all := map[string]string{}
	for _, s := range d.Services {
		if d.Replicas[s.Name] > 1 || s.Finishes {
			continue
		}
		if address := d.project.fixed[s.Name]; address != "" {
			all[s.Name] = "has an address of its own, " + address
		}
		for _, mount := range s.Container.Mounts {
			switch {
			case mount.ReadOnly:
			case mount.Kind == lab.MountVolume:
				all[s.Name] = "keeps data in a volume at " + mount.Target
			case mount.Kind == lab.MountBind && isFolder(mount.Source):
				all[s.Name] = "writes into the folder " + mount.Source + " of this host"
			}
		}
	}
	return all
}

// isFolder reports whether a path that is mounted is a folder, or missing: then Docker makes a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.IsDir()
}
