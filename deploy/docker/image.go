package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"

	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/leftovers"
)

// programInImage is where an image has the unit program.
const programInImage = "/cleave-unit"

// prepared returns the daemon's client and the deployer's image, which the first trial
// makes.
func (d *Deployer) prepared(ctx context.Context) (client *engine.Client, image string, err error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.engine == nil {
		if d.engine, err = engine.Open(); err != nil {
			return nil, "", unanswered(err)
		}
	}
	if d.image == "" {
		if d.image, err = d.importImage(ctx); err != nil {
			return nil, "", err
		}
	}
	return d.engine, d.image, nil
}

// Close removes the image.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.image == "" {
		return nil
	}
	err := d.engine.RemoveImage(context.Background(), d.image)
	if gone := Missing(); err != nil && gone != nil {
		err = fmt.Errorf("its image is left (%w); when the daemon runs again, remove it with: cleave clean", gone)
	}
	d.image = ""
	return err
}

// Missing says what this host lacks for containers; nil: nothing.
func Missing() error {
	_, err := engine.Open()
	return unanswered(err)
}

// unanswered says what to do about a daemon that does not answer.
func unanswered(err error) error {
	if err == nil {
		return nil
	}
	if _, missing := exec.LookPath("docker"); missing != nil && errors.Is(err, fs.ErrNotExist) {
		return errors.New("containers need Docker, which is not installed here: on Debian: apt-get install docker.io")
	}
	return fmt.Errorf("containers need Docker's daemon, which does not answer here (%w): start it, for example with: systemctl start docker", err)
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
	err = making(ctx, func(ctx context.Context) error {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(writeImage(writer, program, info.Size())) }()
		err := d.engine.Import(ctx, name, leftovers.DockerLabel+"="+d.label, reader)
		return errors.Join(err, reader.Close())
	})
	return name, err
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
