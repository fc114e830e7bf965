package kubernetes

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestPodsAreCalledThemselves checks that callers get the address of a unit's pod if the layout says so, and
// that of its service otherwise.
func TestPodsAreCalledThemselves(t *testing.T) {
	d, _ := newDeployer(t)
	for at, direct := range map[lab.Reach]bool{lab.ReachUsual: false, lab.ReachDirect: true} {
		t.Logf("reach %q", at)
		l := deploytest.Layout("front")
		l.Units[1].Reached = at
		made := deploytest.Deploy(t, d, l)
		running := made.(*deployment)
		var front api.Pod
		testset.Must(t, d.cluster.API.Do(t.Context(), http.MethodGet,
			d.cluster.ours("pods", running.Named("front").name), nil, &front))
		address := running.shared().Environment(l.Units[0])[lab.PeerVariable("front")]
		if is := strings.HasPrefix(address, front.Status.PodIP+":"); is != direct || front.Status.PodIP == "" {
			t.Errorf("reach %q: the lead calls the front at %s, whose pod has %s", at, address, front.Status.PodIP)
		}
		deploytest.Await(t, made, lab.EventReady) // it has called
		deploytest.NoError(t, made.Stop())
	}
}

// TestFurtherPortsHaveAService checks that peers get the address of a unit's further port although the unit
// does not listen at its own.
func TestFurtherPortsHaveAService(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"spec":{"clusterIP":"10.0.0.7"}}`)) // the test fails if the client lacks it
	}))
	defer server.Close()
	d := &deployment{deployer: &Deployer{site: &userSite{}},
		cluster: &cluster{API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	broker := lab.UnitSpec{Name: "broker", Networking: lab.Networking{Ports: []string{"mapper"}}}
	testset.Must(t, d.connect(t.Context(), []lab.UnitSpec{broker}))
	if at := d.Endpoints[lab.PortOf("broker", "mapper")].Dial; at != "10.0.0.7:8081" {
		t.Errorf("its port is called at %q, want the address of a service", at)
	}
}

// TestAPreflightEndsWithItsContext checks that Preflight ends with its context while this host's Docker,
// which is asked for images, or the user's cluster does not answer.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://"+deploytest.Silent(t))
	deploytest.GivesUp(t, New(process.New("", nil, nil, ""), "", t.TempDir(), "", nil))
	users := &UserCluster{API: api.New("https://"+deploytest.Silent(t),
		&tls.Config{MinVersion: tls.VersionTLS12})}
	deploytest.GivesUp(t, New(process.New("", nil, nil, ""), "", "", "", users))
}

// TestFurtherPortsAreForwarded checks that a call of a unit's further port reaches the pod of the unit.
func TestFurtherPortsAreForwarded(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	d := &deployment{deployer: &Deployer{site: &userSite{}},
		cluster: &cluster{API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	p := d.newPod(lab.UnitSpec{Name: "broker"})
	p.name = "broker-1"
	d.Add(p)
	mapper := lab.PortOf("broker", "mapper")
	d.Endpoints[mapper] = lab.Endpoint{Dial: "10.0.0.7:8081"}
	_, err := d.connectTo(mapper)
	deploytest.Says(t, err, "reach port 8081 of the pod broker-1")
}
