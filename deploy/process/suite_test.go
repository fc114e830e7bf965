package process

import (
	"os"
	"testing"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
)

// TestSuite is what every deployer must pass.
func TestSuite(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	label := deploytest.Label(t)
	deployer := New(deploytest.Program(t), []string{own, "janitor"}, []string{own, "keeper"}, label)
	deploytest.Suite(t, deployer, func() []string {
		left := deploytest.Processes(label)
		for _, folder := range cgroup.All(cgroup.Root) {
			if folder.Label == label {
				left = append(left, folder.Path)
			}
		}
		return left
	})
}
