package process

import (
	"os"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
)

// TestSuite is what every deployer must pass.
func TestSuite(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	deployer := New(deploytest.Program(t), []string{own, "janitor"}, []string{own, "keeper"}, label(t))
	deploytest.Suite(t, deployer, func() []string { return deploytest.Processes(label(t)) })
}
