package supervise

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cleave-lab/cleave/lab"
)

// HandedOverFolder is the folder, below that of the trial, of what units hand over.
const HandedOverFolder = "handed-over"

// Volume is the folder that a unit gets, below that of the trial.
func Volume(dir string, spec lab.UnitSpec) string {
	if spec.Volume == "" {
		return filepath.Join(dir, spec.Name)
	}
	return filepath.Join(dir, spec.Volume)
}

// MakeVolume makes the folder that a unit gets, where it is not there, and writes the
// unit's files into it.
func MakeVolume(dir string, spec lab.UnitSpec) error {
	path := Volume(dir, spec)
	if filepath.Dir(path) != dir || filepath.Base(path) == HandedOverFolder {
		return fmt.Errorf("unit %s: %q cannot be the name of its folder", spec.Name, filepath.Base(path))
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make the folder of unit %s: %w", spec.Name, err)
	}
	for name, data := range spec.Files {
		if err := os.WriteFile(filepath.Join(path, name), data, 0o600); err != nil {
			return fmt.Errorf("write a file of unit %s: %w", spec.Name, err)
		}
	}
	return nil
}

// Environment is all that a unit gets, as KEY=value: nothing of the conductor's own
// environment reaches the system under test.
func Environment(spec lab.UnitSpec, label, dir string, endpoints map[string]lab.Endpoint) []string {
	environment := []string{"CLEAVE_RUN=" + label, "CLEAVE_DIR=" + Volume(dir, spec)}
	if endpoint, listens := endpoints[spec.Name]; listens {
		environment = append(environment, "CLEAVE_ADDRESS="+endpoint.Bind)
	}
	for _, peer := range spec.Peers {
		environment = append(environment, lab.PeerVariable(peer)+"="+endpoints[peer].Dial)
	}
	return append(environment, spec.Env...)
}
