package kubernetes

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/internal/testset"
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
	d.pods.store(state, false)
	time.AfterFunc(200*time.Millisecond, func() {
		_, _ = p.Log.Write([]byte("stillborn\n"))
		close(p.followed)
	})
	deploytest.Says(t, p.connect(t.Context()), "unit views", "its program ended: exit status 3", "stillborn")
}

// TestNamesAndUsersOfDescribedUnits checks which names and users of described units are refused, and that the
// reason says what to give.
func TestNamesAndUsersOfDescribedUnits(t *testing.T) {
	long := strings.Repeat("a", longestName)
	for _, c := range []struct{ name, user, says string }{{"web-2", "7:8", ""}, {long, "7", ""},
		{long + "a", "", "at most 40 lower-case letters"}, {"Web", "", "at most 40 lower-case letters"},
		{"web", "root", "the user root (give its number)"}} {
		says := ""
		for _, lack := range lacks(lab.UnitSpec{Name: c.name,
			Runnable: lab.Runnable{Container: &lab.ContainerSpec{User: c.user}}}) {
			if lack.Asked {
				says += lack.What
			}
		}
		if (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
			t.Errorf("unit %s with the user %q lacks %q, want %q", c.name, c.user, says, c.says)
		}
	}
}

// TestAHealthCheckWithoutACommandKeepsItsSettings checks that such a check takes from its image only what it
// lacks, as in Docker.
func TestAHealthCheckWithoutACommandKeepsItsSettings(t *testing.T) {
	d := &deployment{deployer: &Deployer{site: &userSite{}}, configs: map[string]engine.ImageConfig{"web": {
		Healthcheck: &engine.Healthcheck{Test: []string{"CMD", "probe"}, Interval: time.Minute, Retries: 9}}}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	p := d.newPod(lab.UnitSpec{Name: "views", Runnable: lab.Runnable{Image: "web"}})
	want := &api.Probe{Exec: &api.Exec{Command: []string{"probe"}}, PeriodSeconds: 2, TimeoutSeconds: 1,
		FailureThreshold: 9}
	if got := p.probe(&lab.HealthCheck{Interval: 2, Timeout: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("its probe is %+v, want %+v", got, want)
	}
}

// TestTextsAreTakenLiterally checks that Kubernetes makes of each escaped text the text itself, by the rules
// of its expansion: $$ is $, $(NAME) is a variable, and any other $ stays. Commands of probes are escaped,
// too.
func TestTextsAreTakenLiterally(t *testing.T) {
	expand := func(text string) string {
		return regexp.MustCompile(`\$\$|\$\([^)]*\)`).ReplaceAllStringFunc(text, func(found string) string {
			if found == "$$" {
				return "$"
			}
			return "VARIABLE"
		})
	}
	texts := []string{"plain", "$", "a$b", "a$$b", "$(HOME)", "$$(HOME)", "$$$(HOME)", "kill $$", "($"}
	for i, escaped := range literals(texts) {
		if got := expand(escaped); got != texts[i] {
			t.Errorf("%q becomes %q and then %q", texts[i], escaped, got)
		}
	}
	d := &deployment{deployer: &Deployer{site: &userSite{}}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	p := d.newPod(lab.UnitSpec{Name: "views"})
	for _, test := range [][]string{{"CMD", "probe", "$$"}, {"CMD-SHELL", "$$"}} {
		command := p.probe(&lab.HealthCheck{Test: test}).Exec.Command
		if last := command[len(command)-1]; expand(last) != "$$" {
			t.Errorf("the probe %q runs %q", test, command)
		}
	}
}

// TestOthersWaitForHealthChecksOfTheirOwn checks that on a user's cluster a service for whose health others
// wait needs a command or a port to check: settings for the check of its image are not enough.
func TestOthersWaitForHealthChecksOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		check   *lab.HealthCheck
		refused bool
	}{{nil, true}, {&lab.HealthCheck{Interval: 1}, true}, {&lab.HealthCheck{Port: 80}, false},
		{&lab.HealthCheck{Test: []string{"CMD", "true"}}, false}} {
		spec := lab.UnitSpec{Name: "db", Runnable: lab.Runnable{Container: &lab.ContainerSpec{Health: c.check}}}
		spec.Readiness.Healthy = true
		if err := checkHealth([]lab.UnitSpec{spec}); (err != nil) != c.refused {
			t.Errorf("the check %+v: %v", c.check, err)
		}
	}
}

// TestFilesAndOrdersShareASecret checks that a unit is refused whose files and orders of its starter do not
// fit into one secret together.
func TestFilesAndOrdersShareASecret(t *testing.T) {
	d := &deployment{deployer: &Deployer{site: &userSite{}}, dir: t.TempDir()}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), d.dir, fleet.Platform[*pod]{})
	p := d.newPod(lab.UnitSpec{Name: "views"})
	life := p.sitePod.(*userPod)
	life.command = []string{"/views"}
	folder := fleet.Volume(d.dir, p.Spec)
	testset.Must(t, os.Mkdir(folder, 0o700))
	testset.Must(t, os.WriteFile(filepath.Join(folder, "seed"), make([]byte, maxSecret), 0o600))
	made := &api.Pod{Spec: api.PodSpec{Containers: []api.Container{{}}}}
	_, err := life.giveFiles(made)
	deploytest.Says(t, err, "a secret of Kubernetes holds 1048576", "fewer operations")
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

// TestASilentClusterFailsTheTrialInTime checks that a trial fails when its cluster has accepted a request
// and has not answered for as long as the failure says.
func TestASilentClusterFailsTheTrialInTime(t *testing.T) {
	testset.Need(t, "it waits for half a minute")
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	d := &deployment{pods: newPodCache(), cluster: &cluster{name: "theirs", alive: t.Context(),
		API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}}
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{}, ""), t.TempDir(), fleet.Platform[*pod]{})
	defer d.Unwatch()
	go d.watch()
	select {
	case <-d.Failed():
		deploytest.Says(t, d.Failure(), "the cluster theirs has not answered for 30s")
	case <-time.After(apiPatience + 15*time.Second):
		t.Error("it has not failed")
	}
}
