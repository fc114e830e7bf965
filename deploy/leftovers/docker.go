package leftovers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// DockerLabel marks every container, network and volume that Cleave makes; its
// value is the label of the conductor.
const DockerLabel = "cleave.run"

// ImageName begins the names of images that Cleave makes; their tag is the label.
const ImageName = "cleave-unit-"

// dockerPatience is how long Docker may take to answer.
const dockerPatience = 10 * time.Second

// dockerKinds are what is looked for, in the order in which it must be removed.
func dockerKinds() []struct {
	kind         string
	list, remove []string
} {
	return []struct {
		kind         string
		list, remove []string
	}{
		{"container", []string{"ps", "-a", "--format", `{{.ID}} {{.Label "` + DockerLabel + `"}}`}, []string{"rm", "--force", "--volumes"}},
		{"network", []string{"network", "ls", "--format", `{{.ID}} {{.Label "` + DockerLabel + `"}}`}, []string{"network", "rm"}},
		{"image", []string{"images", "--format", `{{.Repository}}:{{.Tag}} {{.Tag}}`, "--filter", "reference=" + ImageName + "*"}, []string{"rmi", "--force"}},
		{"volume", []string{"volume", "ls", "--format", `{{.Name}} {{.Label "` + DockerLabel + `"}}`}, []string{"volume", "rm"}},
	}
}

// Docker lists what in Docker carries a label that is wanted. Without Docker, or
// without its daemon, there is nothing.
func Docker(wanted func(label string) bool) ([]Leftover, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerPatience)
	defer cancel()
	if exec.CommandContext(ctx, "docker", "version").Run() != nil {
		return nil, nil
	}
	var found []Leftover
	var failed error
	for _, kind := range dockerKinds() {
		args := append(kind.list, "--filter", "label="+DockerLabel)
		text, err := exec.CommandContext(ctx, "docker", args...).Output()
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("docker %s: %w", strings.Join(args, " "), err))
		}
		for line := range strings.Lines(string(text)) {
			id, label, ok := strings.Cut(strings.TrimSpace(line), " ")
			if ok && wanted(label) {
				found = append(found, Leftover{Docker: kind.kind, ID: id, Label: label})
			}
		}
	}
	return found, failed
}

// removeDocker removes a container, network or volume.
func (l Leftover) removeDocker() error {
	for _, kind := range dockerKinds() {
		if kind.kind != l.Docker {
			continue
		}
		args := append(kind.remove, l.ID)
		if text, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(text)))
		}
	}
	return nil
}
