package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/cleave-lab/cleave/deploy/leftovers"
)

// programInImage is where an image has the unit program.
const programInImage = "/cleave-unit"

// ownImage returns the name of the deployer's image, which the first trial makes.
func (d *Deployer) ownImage(ctx context.Context) (string, error) {
	d.importing.Lock()
	defer d.importing.Unlock()
	if d.image == "" {
		name, err := d.importImage(ctx)
		if err != nil {
			return "", err
		}
		d.image = name
	}
	return d.image, nil
}

// Close removes the image.
func (d *Deployer) Close() error {
	d.importing.Lock()
	defer d.importing.Unlock()
	if d.image == "" {
		return nil
	}
	_, err := docker(context.Background(), "rmi", "--force", d.image)
	if gone := Missing(); err != nil && gone != nil {
		err = fmt.Errorf("its image is left (%w); when the daemon runs again, remove it with: cleave clean", gone)
	}
	d.image = ""
	return err
}

// importImage makes an image that has the unit program and, for programs of this host,
// the links of a merged /usr. No registry and no build is needed. It returns the name.
func (d *Deployer) importImage(ctx context.Context) (string, error) {
	program, err := os.Open(d.program)
	if err != nil {
		return "", fmt.Errorf("make an image: %w", err)
	}
	defer func() { _ = program.Close() }() // only read
	info, err := program.Stat()
	if err != nil {
		return "", fmt.Errorf("make an image: %w", err)
	}
	name := leftovers.ImageName + string(d.network) + ":" + d.label
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(writeImage(writer, program, info.Size())) }()
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	command := exec.Command("docker", "import", "--change", "LABEL "+leftovers.DockerLabel+"="+d.label, "-", name)
	command.Stdin = reader
	_, err = output(command)
	return name, errors.Join(err, reader.Close())
}

// writeImage writes the root file system of the image.
func writeImage(to io.Writer, program io.Reader, size int64) error {
	archive := tar.NewWriter(to)
	for _, folder := range []string{"usr/", "etc/", "tmp/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
			return err
		}
	}
	for _, link := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: "usr/" + link, Mode: 0o777}); err != nil {
			return err
		}
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: programInImage[1:], Mode: 0o755, Size: size}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(archive, program); err != nil {
		return err
	}
	return archive.Close()
}
