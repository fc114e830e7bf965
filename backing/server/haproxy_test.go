package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// replica answers with its name and says that it is well.
func replica(t *testing.T, name string) *httptest.Server {
	t.Helper()
	unit := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/alive" {
			_, _ = io.WriteString(w, name)
		}
	}))
	t.Cleanup(unit.Close)
	return unit
}

func address(unit *httptest.Server) string { return strings.TrimPrefix(unit.URL, "http://") }

// ask sends n requests, each over its own connection, and returns the answers.
func ask(t *testing.T, instance *Instance, n int) map[string]int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answers := map[string]int{}
	for range n {
		response, err := client.Get(instance.DSN("") + "/orders")
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		must(t, response.Body.Close())
		answers[response.Status+" "+string(body)]++
	}
	return answers
}

func TestBalancerOutlivesAReplica(t *testing.T) {
	first, second := replica(t, "first"), replica(t, "second")
	instance := launchHere(t, HAProxy, Settings{Backends: []string{address(first), address(second)}, HealthPath: "/alive"})
	if answers := ask(t, instance, 10); answers["200 OK first"] != 5 || answers["200 OK second"] != 5 {
		t.Errorf("answers = %v, want five of each", answers)
	}
	first.CloseClientConnections()
	first.Close()
	if answers := ask(t, instance, 10); answers["200 OK second"] != 10 {
		t.Errorf("answers = %v, want all of the second", answers)
	}
	var states []string
	for len(states) == 0 || states[0] != "DOWN" {
		var err error
		states, err = instance.BackendStates(within(t))
		must(t, err)
		time.Sleep(pollEvery)
	}
	if states[1] != "UP" {
		t.Errorf("states = %v", states)
	}
	for _, listener := range listeners(t, instance.PIDs()) {
		if !listener.Addr().IsLoopback() || listener.Port() > 32767 {
			t.Errorf("it listens at %v", listener)
		}
	}
	if err := instance.Snapshot(within(t)); err == nil || !strings.Contains(err.Error(), ErrNoData.Error()) {
		t.Errorf("snapshot: error = %v, want %v", err, ErrNoData)
	}
}

func TestBalancerNeedsItsReplicas(t *testing.T) {
	if _, err := installedOf(HAProxy); err != nil {
		t.Skip(err)
	}
	well, gone := replica(t, "well"), replica(t, "gone") // both first, so that their ports differ
	gone.Close()
	for want, backends := range map[string][]string{
		"Backends is empty":        nil,
		address(gone) + " is DOWN": {address(well), address(gone)},
		"invalid character 'p'":    {"127.0.0.1:port"},
	} {
		ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
		_, err := Start(ctx, HAProxy, t.TempDir(), Settings{Backends: backends, HealthPath: "/alive"})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("backends %v: error = %v, want %q", backends, err, want)
		}
	}
}

func TestParseStates(t *testing.T) {
	const head = "# pxname,svname,status,check_status\n"
	cases := []struct {
		name, table string
		want        []string // nil: an error
	}{
		{"all", head + "front,FRONTEND,OPEN,\nunits,unit2,UP,* L7OK\nunits,unit1,DOWN 1/2,L4CON\nunits,BACKEND,UP,\n\n", []string{"DOWN 1/2", "UP"}},
		{"before the first check", head + "units,unit1,UP,\nunits,unit2,UP,INI\n", []string{"not checked yet", "not checked yet"}},
		{"one is not there", head + "units,unit1,UP,L7OK\n", nil},
		{"no column", "# pxname,svname\nunits,unit1\nunits,unit2\n", nil},
		{"nothing", "", nil},
		{"one too many", head + "units,unit1,UP,L7OK\nunits,unit2,UP,L7OK\nunits,unit3,UP,L7OK\n", []string{"UP", "UP"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseStates(c.table, 2)
			if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
				t.Errorf("states = %v, error %v, want %v", got, err, c.want)
			}
		})
	}
}
