package containers

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// programInImage is the path of the unit program in an image.
const programInImage = "/unit"

// Image returns an image: its configuration, as JSON, and its only layer, the root file system as a tar
// archive. That has the unit program, the links of a merged /usr for programs of this host, and, in the root
// folder, further programs of ours. program is the path of the unit program (empty: none), beside holds the
// paths of the further programs. The same programs give the same bytes.
func Image(program string, labels map[string]string, beside ...string) (config, layer []byte, err error) {
	return imageWith(program, labels, beside, func(archive *tar.Writer) error {
		if program == "" {
			return nil
		}
		return writeProgram(archive, programInImage[1:], program)
	})
}

// imageWith returns what Image returns, for an image whose content write writes. what names it in errors.
func imageWith(
	what string, labels map[string]string, beside []string, write func(*tar.Writer) error,
) (config, layer []byte, err error) {
	var root bytes.Buffer
	archive := tar.NewWriter(&root)
	err = errors.Join(writeFolders(archive), writeBeside(archive, beside))
	if err == nil {
		err = write(archive)
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		return nil, nil, fmt.Errorf("make an image of %s: %w", what, err)
	}
	config, err = json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "1970-01-01T00:00:00Z",
		"config": map[string]any{"Labels": labels, "Cmd": []string{programInImage}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(root.Bytes())}},
	})
	return config, root.Bytes(), err
}

// writeFolders writes the folders of every image, and the links of a merged /usr.
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

// writeBeside writes further programs of ours to the root folder of the archive.
func writeBeside(archive *tar.Writer, programs []string) error {
	for _, path := range programs {
		if err := writeProgram(archive, filepath.Base(path), path); err != nil {
			return err
		}
	}
	return nil
}

// writeProgram writes the program at a path of this host to the archive under a name.
func writeProgram(archive *tar.Writer, name, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return writeAs(archive, name, 0o755, text)
}

// Archive returns an image in the format of `docker save`, which every node of a cluster can load, and its
// id, which is the same on all nodes: a node that is asked for the image by its id needs no registry.
// program is the path of the unit program; empty: none.
func Archive(name, program string, labels map[string]string) (archive []byte, id string, err error) {
	config, layer, err := Image(program, labels)
	if err != nil {
		return nil, "", err
	}
	id = sum(config)
	manifest, err := json.Marshal([]map[string]any{
		{"Config": id + ".json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		return nil, "", err
	}
	var all bytes.Buffer
	writer := tar.NewWriter(&all)
	for _, part := range []struct {
		name string
		data []byte
	}{{id + ".json", config}, {"layer.tar", layer}, {"manifest.json", manifest}} {
		err = errors.Join(err, writeAs(writer, part.name, 0o644, part.data))
	}
	err = errors.Join(err, writer.Close())
	return all.Bytes(), "sha256:" + id, err
}

// sum returns the SHA-256 of data in hexadecimal.
func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// hostProgram is the prefix of the text by which Images.Load knows an image of programs of this host, and
// programSeparator separates the paths of the programs in it.
const (
	hostProgram      = "host:"
	programSeparator = "|"
)

// registryContent returns the content (see Images.Load) of the image of a unit that names its program, for
// nodes that do not have this host's folders: the path of a program of ours, or the list of programs of
// this host that a foreign unit and its setup run.
func registryContent(spec lab.UnitSpec) string {
	if !spec.Foreign {
		return spec.Program
	}
	all := []string{spec.Program}
	if spec.Server != nil {
		for _, setup := range spec.Server.Setup {
			if setup.Program != "" && !slices.Contains(all, setup.Program) {
				all = append(all, setup.Program)
			}
		}
	}
	for i, program := range all {
		if path, err := exec.LookPath(program); err == nil { // if not, making the image reports it
			all[i] = path
		}
	}
	return hostProgram + strings.Join(all, programSeparator)
}

// firstProgram returns the path of the first program in a content (see Images.Load), after which its image is
// named.
func firstProgram(content string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(content, hostProgram), programSeparator)
	return first
}

// RegistryImage makes an image for a registry and returns its name, configuration and layer. content is the
// path of a program of ours, what registryContent returns, or "" for none. The image has the starter, too. An
// image without a program has the name of the starter.
func RegistryImage(content, starter string) (name string, config, layer []byte, err error) {
	program := cmp.Or(firstProgram(content), starter)
	name = strings.ToLower(filepath.Base(program))
	if list, ofHost := strings.CutPrefix(content, hostProgram); ofHost {
		config, layer, err = imageOf(strings.Split(list, programSeparator), starter)
	} else {
		config, layer, err = Image(content, nil, starter)
	}
	return name, config, layer, err
}
