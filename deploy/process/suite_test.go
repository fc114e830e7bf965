package process

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
)

// TestSuite runs the suite that every deployer must pass.
func TestSuite(t *testing.T) {
	label := deploytest.Label(t)
	deployer := New(deploytest.Program(t), deploytest.Part("janitor"), deploytest.Part("keeper"), label)
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
