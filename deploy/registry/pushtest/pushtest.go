// Package pushtest puts images into a registry for tests, as a user would.
//
// Entry point: Push.
package pushtest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Push makes an image that runs the program at a path, which must be linked statically, puts it into the
// registry at a place (see registry.Parse), and returns its name there.
func Push(t *testing.T, place, path string) string {
	t.Helper()
	program, err := os.ReadFile(path)
	testset.Must(t, err)
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "program", Mode: 0o755,
		Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(program); err != nil {
		t.Fatal(err)
	}
	testset.Must(t, archive.Close())
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/program"}},
		"rootfs": map[string]any{"type": "layers",
			"diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	testset.Must(t, err)
	to, err := registry.Parse(place)
	testset.Must(t, err)
	name, err := to.Push(t.Context(), registry.Image{Name: "theirs", Config: config, Layer: layer.Bytes()})
	testset.Must(t, err)
	return name
}
