package swarm

import (
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
)

// TestAdvice checks that the state of a task that does not run comes with advice.
func TestAdvice(t *testing.T) {
	deploytest.Says(t, describe(engine.Task{}), "there is no task of it yet", "docker service ls")
	for said, want := range map[string]string{
		"No such image: shop:1":                               "look whether the nodes reach the registry",
		"driver failed: Bind for :80: Address already in use": "run it as a service that publishes the port",
		"no suitable node (insufficient resources)":           "look at docker node ls",
	} {
		task := engine.Task{ID: "1"}
		task.Status.State = "rejected"
		task.Status.Err = said
		deploytest.Says(t, describe(task), "rejected: "+said+": ", want)
	}
}
