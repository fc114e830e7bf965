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
	deployer := New(deploytest.Program(t), []string{own, "janitor"}, []string{own, "keeper"}, label(t))
	deploytest.Suite(t, deployer, func() []string {
		left := deploytest.Processes(label(t))
		for _, folder := range cgroup.All(cgroup.Root) {
			if folder.Label == label(t) {
				left = append(left, folder.Path)
			}
		}
		return left
	})
}
