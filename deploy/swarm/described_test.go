package swarm

import (
	"strings"
	"testing"
	"text/template"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestSwarmEvaluatesNothingOfTheUsers checks that texts in which Swarm evaluates templates become those of
// the user: fields that SwarmKit expands in ExpandContainerSpec and ExpandNetworks (template/expand.go).
func TestSwarmEvaluatesNothingOfTheUsers(t *testing.T) {
	expand := func(text string) string {
		parsed, err := template.New("").Parse(text)
		testset.Must(t, err)
		var result strings.Builder
		testset.Must(t, parsed.Execute(&result, nil))
		return result.String()
	}
	d := &deployment{deployer: &Deployer{images: &containers.Images{}}}
	var wanted containers.Container
	wanted.Hostname = "{{.Node.ID}}"
	wanted.Env = []string{"A={{.Service.Name}}"}
	wanted.Mounts = []lab.ContainerMount{{Kind: lab.MountBind, Source: "/{{.a}}", Target: "/{{.b}}"},
		{Kind: lab.MountVolume, Source: "/{{.c}}", Target: "/{{.d}}"}}
	spec := lab.UnitSpec{Name: "{{.e}}", Runnable: lab.Runnable{Image: "web:1", Foreign: true}}
	made, err := d.container(spec, wanted)
	testset.Must(t, err)
	bind, volume := made.Mounts[0], made.Mounts[1]
	for text, want := range map[string]string{
		made.Hostname: "{{.Node.ID}}", made.Env[0]: "A={{.Service.Name}}", aliases(spec)[0]: "{{.e}}",
		bind.Source: "/{{.a}}", bind.Target: "/{{.b}}", volume.Target: "/{{.d}}",
		volume.VolumeOptions.DriverConfig.Options["device"]: "/{{.c}}",
	} {
		if got := expand(text); got != want {
			t.Errorf("Swarm makes %q of %q", got, want)
		}
	}
}

// TestAnOptionIsNamedOnce checks that a security option that services cannot have is named once, be it one
// that no cluster gives, or one that only Swarm does not.
func TestAnOptionIsNamedOnce(t *testing.T) {
	for _, option := range []string{"no-new-privileges", "no-new-privileges:false", "seccomp=unconfined"} {
		err := containers.CheckDescribed("Swarm", []lab.UnitSpec{{Name: "web", Runnable: lab.Runnable{
			Container: &lab.ContainerSpec{SecurityOpt: []string{option}}}}}, lacks)
		if err == nil || strings.Count(err.Error(), option) != 1 {
			t.Errorf("%s: %v", option, err)
		}
	}
}
