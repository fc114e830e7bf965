package containers

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// programInImage is the path of the unit program in an image.
const programInImage = "/unit"

// WriteImage writes the root file system of an image as a tar archive: the unit program (nil: none), the
// links of a merged /usr for programs of this host, and the further programs beside, at the top. The same
// programs give the same bytes.
func WriteImage(to io.Writer, program *os.File, beside ...string) error {
	archive := tar.NewWriter(to)
	if err := errors.Join(writeFolders(archive), writeBeside(archive, beside)); err != nil {
		return err
	}
	if program == nil {
		return archive.Close()
	}
	info, err := program.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: programInImage[1:], Mode: 0o755, Size: info.Size()}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(archive, program); err != nil {
		return err
	}
	return archive.Close()
}

// writeFolders writes what every image has: folders, and the links of a merged /usr.
func writeFolders(archive *tar.Writer) error {
	for _, folder := range []string{"usr/", "etc/", "tmp/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
			return err
		}
	}
	for _, link := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: "usr/" + link,
			Mode: 0o777}); err != nil {
			return err
		}
	}
	return nil
}

// writeBeside writes further programs of ours at the top of the archive.
func writeBeside(archive *tar.Writer, programs []string) error {
	for _, path := range programs {
		text, err := os.ReadFile(path)
		if err == nil {
			err = writeAs(archive, filepath.Base(path), 0o755, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// configOf returns the configuration of an image with one layer.
func configOf(layer []byte, labels map[string]string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "1970-01-01T00:00:00Z",
		"config": map[string]any{"Labels": labels, "Cmd": []string{programInImage}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
	})
}

// Image returns an image: its configuration, as JSON, and its only layer, the root file system. program is
// the path of the unit program (empty: none), beside the paths of further programs of ours.
func Image(program string, labels map[string]string, beside ...string) (config, layer []byte, err error) {
	var file *os.File
	if program != "" {
		if file, err = os.Open(program); err != nil {
			return nil, nil, fmt.Errorf("make an image: %w", err)
		}
		defer func() { _ = file.Close() }() // only read
	}
	var root bytes.Buffer
	if err := WriteImage(&root, file, beside...); err != nil {
		return nil, nil, fmt.Errorf("make an image of %s: %w", program, err)
	}
	config, err = configOf(root.Bytes(), labels)
	return config, root.Bytes(), err
}

// Archive returns an image in the format of `docker save`, which every node of a cluster can load, and its
// id, which is the same on all nodes: a node that is asked for the image by its id needs no registry.
// program is the path of the unit program; empty: none.
func Archive(name, program string, labels map[string]string) (archive []byte, id string, err error) {
	config, layer, err := Image(program, labels)
	if err != nil {
		return nil, "", err
	}
	described := sum(config)
	manifest, err := json.Marshal([]map[string]any{
		{"Config": described + ".json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		return nil, "", err
	}
	var all bytes.Buffer
	writer := tar.NewWriter(&all)
	for _, part := range []struct {
		name string
		data []byte
	}{{described + ".json", config}, {"layer.tar", layer}, {"manifest.json", manifest}} {
		err = errors.Join(err, writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: part.name, Mode: 0o644,
			Size: int64(len(part.data))}))
		_, wrong := writer.Write(part.data)
		err = errors.Join(err, wrong)
	}
	return all.Bytes(), "sha256:" + described, errors.Join(err, writer.Close())
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
