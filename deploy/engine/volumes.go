package engine

import (
	"context"
	"net/http"
)

// Mount is a folder of a container.
type Mount struct {
	Type          string // bind, tmpfs, volume
	Source        string `json:",omitempty"`
	Target        string
	ReadOnly      bool
	VolumeOptions *VolumeOptions `json:",omitempty"`
	TmpfsOptions  *TmpfsOptions  `json:",omitempty"`
}

// VolumeOptions choose the driver of a volume.
type VolumeOptions struct{ DriverConfig VolumeDriver }

// VolumeDriver names the driver that keeps a volume, and its options.
type VolumeDriver struct {
	Name    string
	Options map[string]string
}

// TmpfsOptions bound the size of a file system in memory.
type TmpfsOptions struct{ SizeBytes int64 }

// FolderAt returns the mount of a volume whose content is in a folder of the daemon's host. If the folder is
// empty, Docker copies the files of the image at the target to it.
func FolderAt(target, folder string, readOnly bool) Mount {
	return Mount{Type: "volume", Target: target, ReadOnly: readOnly, VolumeOptions: &VolumeOptions{VolumeDriver{
		Name: "local", Options: map[string]string{"type": "none", "o": "bind", "device": folder}}}}
}

// MakeVolume makes a volume.
func (c *Client) MakeVolume(ctx context.Context, name string, labels map[string]string) error {
	made := struct {
		Name   string
		Labels map[string]string
	}{name, labels}
	return named("make the volume", name, c.call(ctx, http.MethodPost, "/volumes/create", nil, made, nil))
}
