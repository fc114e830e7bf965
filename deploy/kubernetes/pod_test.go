package kubernetes

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/lab"
)

// TestTheLogComesAfterTheEnd checks that the error about a program that ended holds the last lines of its
// log, also if Kubernetes reports the end before it delivers the log.
func TestTheLogComesAfterTheEnd(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	d := &deployment{pods: newPodCache(), deployer: &Deployer{site: &userSite{}},
		cluster: &cluster{API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	p := d.newPod(lab.UnitSpec{Name: "views"})
	p.name = "views"
	state := api.Pod{}
	state.Metadata.Name = "views"
	state.Status.ContainerStatuses = []api.ContainerStatus{
		{State: api.ContainerState{Terminated: &api.Terminated{ExitCode: 3}}}}
	d.pods.update(state, false)
	time.AfterFunc(200*time.Millisecond, func() {
		_, _ = p.Log.Write([]byte("stillborn\n"))
		close(p.followed)
	})
	deploytest.Says(t, p.connect(t.Context()), "unit views", "its program ended: exit status 3", "stillborn")
}

// TestAStartThatFailsHasEnded checks that a life whose pod cannot be made has ended, so that no caller waits
// for its end.
func TestAStartThatFailsHasEnded(t *testing.T) {
	d := &deployment{pods: newPodCache(), deployer: &Deployer{site: &userSite{}}, cluster: &cluster{}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	d.Wanted = links.Of(nil, nil)
	p := d.newPod(lab.UnitSpec{Name: "views"})
	deploytest.Says(t, p.Start(t.Context()), "cannot be the name of its folder") // the trial has no folder
	if !p.HasEnded() {
		t.Error("a start has failed, and the life has not ended")
	}
}
