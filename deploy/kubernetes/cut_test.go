package kubernetes

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/registry/pushtest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestCutsNeedMoreRights checks that only a layout with cuts asks for the rights that cuts need.
func TestCutsNeedMoreRights(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":{"allowed":false}}`)) // the test fails if the client lacks it
	}))
	defer server.Close()
	users := &UserCluster{Context: "theirs", API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}
	l := deploytest.Layout("front")
	deploytest.NoError(t, users.checkCuts(t.Context(), l))
	l.Units[1].Faults = []lab.FaultKind{lab.FaultCut}
	deploytest.Says(t, users.checkCuts(t.Context(), l),
		"the cluster theirs does not let you get pods/exec, create pods/exec:")
}

// TestOtherFaultsStayRefused checks that a cut is admitted on a cluster of the user's, and that other faults
// of the same unit that need powers on its node are refused.
func TestOtherFaultsStayRefused(t *testing.T) {
	l := deploytest.Layout("front")
	l.Units[1].Faults = []lab.FaultKind{lab.FaultKill, lab.FaultCut}
	check := func() error { return (&UserCluster{}).asUserCluster().CheckLayout(l, "", "") }
	if err := check(); err == nil || strings.Contains(err.Error(), "faults") {
		t.Errorf("with a kill and a cut: %v", err)
	}
	l.Units[1].Faults = append(l.Units[1].Faults, lab.FaultFill)
	deploytest.Says(t, check(), "unit front shall have the faults [kill fill], for some of which")
}

// TestServersThatCannotRunOnTheUsersCluster checks that a server that visits of a client prepare is refused
// when it is placed: Preflight does not see servers.
func TestServersThatCannotRunOnTheUsersCluster(t *testing.T) {
	visit := func(context.Context, string) error { return nil }
	mongo := lab.UnitSpec{Name: "mongo", Runnable: lab.Runnable{Program: "mongod", Foreign: true,
		Server: &lab.Server{Setup: []lab.ServerSetup{{Program: "mongod", Visit: visit}}}}}
	_, err := (&userSite{UserCluster: &UserCluster{Context: "theirs"}}).places([]lab.UnitSpec{mongo}, nil)
	deploytest.Says(t, err, "unit mongo is prepared by visits of a client")
}

// TestCutOnTheUsersCluster checks that others reach a unit, and a container of the user's, before and after
// they are cut off, and not meanwhile; and that a rule of the cluster against the privilege is named. The
// suite of all deployers asks through the API server, which reaches every pod.
func TestCutOnTheUsersCluster(t *testing.T) {
	f := userstest.New(t)
	program := deploytest.Program(t)
	d := deployerOf(t, f, program)
	t.Cleanup(func() { deploytest.NoError(t, d.Close()) })
	l := deploytest.Layout("front")
	boxed := lab.UnitSpec{Name: "boxed", Role: "server", Runnable: lab.Runnable{Foreign: true,
		Image: pushtest.Push(t, f.Variables[registry.Variable], program),
		Container: &lab.ContainerSpec{Command: []string{"boxed", "/kept", ":80"},
			Mounts: []lab.ContainerMount{{Kind: lab.MountMemory, Target: "/kept"}},
			Health: &lab.HealthCheck{Port: 80, Interval: 1, Timeout: 1, Retries: 1}}}}
	boxed.Listens = true
	boxed.Port = 80
	boxed.Readiness.Healthy = true
	l.Units = append(l.Units, boxed)
	l = l.PreparedFor([]lab.Fault{{Target: lab.EveryUnit, Kind: lab.FaultCut}})
	testset.Must(t, d.Preflight(t.Context(), l))
	made := deploytest.Deploy(t, d, l)
	deploytest.Await(t, made, lab.EventReady)
	for _, unit := range []string{"front", "boxed"} {
		isCutOff(t, made.(*deployment), unit)
	}
	deploytest.NoError(t, made.Failure())
	deploytest.NoError(t, made.Stop())
	testset.Must(t, f.API.Do(t.Context(), http.MethodPatch, "/api/v1/namespaces/"+d.cluster.namespace,
		map[string]any{"metadata": map[string]any{
			"labels": map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}}}, nil))
	_, err := d.Deploy(t.Context(), l, deploytest.Folder(t))
	deploytest.Says(t, err, "its fault cut takes a container of root with the capability NET_ADMIN",
		`violates PodSecurity "baseline`, "have its administrator widen it")
}

// TestAHealedCutWaitsForRoutesOnce: a container with a health check, which is declared ready again, is healed
// after one wait for the routes of the nodes to it.
func TestAHealedCutWaitsForRoutesOnce(t *testing.T) {
	var isCut atomic.Bool
	server := httptest.NewTLSServer(websocket.Server{Handler: func(caller *websocket.Conn) {
		script := strings.Join(caller.Request().URL.Query()["command"], " ")
		status := "status 0"
		switch {
		case strings.Contains(script, dropNothing):
			isCut.Store(false)
		case strings.Contains(script, dropAll):
			isCut.Store(true)
		case isCut.Load():
			status = "status 124"
		}
		for _, message := range []string{"\x01" + status, "\x03" + `{"status":"Success"}`} {
			_ = websocket.Message.Send(caller, []byte(message)) // the caller reports what it lacks
		}
	}})
	defer server.Close()
	d := &deployment{pods: newPodCache(), deployer: &Deployer{site: &userSite{}}, lead: "front",
		cluster: &cluster{API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}}
	opened := 0
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{
		Faults: []lab.FaultKind{lab.FaultCut}, Cut: d.cutByFilter, Reach: func(string) string { return "" },
		AwaitOpen: func(context.Context, *pod) error { opened++; return nil }})
	d.Add(d.newPod(lab.UnitSpec{Name: d.lead}))
	boxed := d.newPod(lab.UnitSpec{Name: "boxed", Runnable: lab.Runnable{Container: &lab.ContainerSpec{
		Health: &lab.HealthCheck{Test: []string{"CMD", "true"}, Interval: 1, Timeout: 1, Retries: 1}}}})
	boxed.name = "boxed"
	d.Add(boxed)
	state := api.Pod{}
	state.Metadata.Name = "boxed"
	state.Status.Conditions = []api.PodCondition{{Type: "Ready", Status: "True"}}
	d.pods.store(state, false)
	fault := lab.Fault{Target: "boxed", Kind: lab.FaultCut}
	_, err := d.Harm(deploytest.Within(t), fault)
	testset.Must(t, err)
	testset.Must(t, d.Heal(deploytest.Within(t), fault))
	if opened != 1 || d.Has("boxed", lab.FaultCut) || isCut.Load() {
		t.Errorf("it waits %d times; it is cut off: %t, %t", opened, d.Has("boxed", lab.FaultCut), isCut.Load())
	}
}

// isCutOff cuts off a unit and heals it. This host is in the network of the cluster, so it calls the unit as
// others there do.
func isCutOff(t *testing.T, d *deployment, unit string) {
	t.Helper()
	reached := func(wait time.Duration) bool {
		connection, err := net.DialTimeout("tcp", d.Endpoints[unit].Dial, wait)
		if err == nil {
			_ = connection.Close() // nothing was sent
		}
		return err == nil
	}
	if !reached(5 * time.Second) {
		t.Errorf("%s is not reached before it is cut off", unit)
	}
	fault := lab.Fault{Target: unit, Kind: lab.FaultCut}
	proof, err := d.Harm(deploytest.Within(t), fault)
	if testset.Must(t, err); proof == "" {
		t.Errorf("nothing proves that %s is cut off", unit)
	}
	if reached(3 * time.Second) {
		t.Errorf("%s is reached while it is cut off", unit)
	}
	testset.Must(t, d.Heal(deploytest.Within(t), fault))
	for begun := time.Now(); !reached(5 * time.Second); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second { // its service may refuse for a while
			t.Fatalf("%s is not reached after it is healed", unit)
		}
	}
}
