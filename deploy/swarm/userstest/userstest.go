// Package userstest makes a swarm that tests use as one of the user's: the deployer does not know that Cleave
// made it. It comes with a registry that its nodes reach; Furnish adds objects of the user's.
//
// Entry point: New.
package userstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/registry/registrytest"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Swarm is a swarm on this host that stands for one of the user's.
type Swarm struct {
	*private.Cluster
	Label     string            // of the test as a conductor
	Registry  string            // host:port
	Variables map[string]string // environment variables that name the swarm and the registry
	Starter   string            // path of the starter program
}

// New brings up a swarm that ends with the test.
func New(t *testing.T) *Swarm {
	t.Helper()
	testset.NeedClusters(t)
	if err := private.Missing(); err != nil {
		t.Skip(err)
	}
	id, err := launch.Own()
	testset.Must(t, err)
	dir, err := os.MkdirTemp("", "cleave-theirs-") // short: there are sockets in it
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, os.RemoveAll(dir)) })
	// The registry has no TLS. It is in the network of simulated hosts, whose addresses are 198.19.0.0/16.
	c, err := private.Up(t.Context(), id.String(), filepath.Join(dir, "swarm"),
		"--insecure-registry=198.19.0.0/16")
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, c.Close()) })
	s := &Swarm{Cluster: c, Label: id.String(), Registry: registrytest.Start(t, c.Hosts.Here()),
		Starter: deploytest.Starter(t)}
	s.Variables = map[string]string{"CLEAVE_USE_SWARM": c.Nodes[0].Socket,
		"CLEAVE_REGISTRY": "http://" + s.Registry + "/team/cleave"}
	return s
}

// Furnish makes objects of the user's, some with names and labels like ours.
func (s *Swarm) Furnish(t *testing.T) {
	t.Helper()
	labels := map[string]string{"cleave.run": "theirs"}
	s.Call(t, 0, http.MethodPost, "/networks/create",
		map[string]any{"Name": "cleave-shop", "Driver": "overlay", "Labels": labels}, nil)
	s.Call(t, 0, http.MethodPost, "/secrets/create",
		map[string]any{"Name": "cleave-theirs", "Labels": labels, "Data": []byte("value")}, nil)
	s.Call(t, 0, http.MethodPost, "/configs/create",
		map[string]any{"Name": "theirs", "Labels": labels, "Data": []byte("value")}, nil)
	s.Call(t, 0, http.MethodPost, "/volumes/create", map[string]any{"Name": "theirs"}, nil)
	// This service publishes the port that a deployer tries first.
	s.Call(t, 0, http.MethodPost, "/services/create", map[string]any{
		"Name": "cleave-shop", "Labels": labels,
		"TaskTemplate": map[string]any{"ContainerSpec": map[string]any{"Image": "none"},
			"Placement": map[string]any{"Constraints": []string{"node.hostname==nowhere"}}},
		"Mode": map[string]any{"Replicated": map[string]int{"Replicas": 1}},
		"EndpointSpec": map[string]any{"Mode": "dnsrr",
			"Ports": []map[string]any{{"Protocol": "tcp", "TargetPort": 1, "PublishedPort": 10000,
				"PublishMode": "host"}}},
	}, nil)
}

// Call sends a request to the daemon of a node.
func (s *Swarm) Call(t *testing.T, node int, method, path string, body, result any) {
	t.Helper()
	text, err := json.Marshal(body)
	testset.Must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, "http://docker/v1.41"+path,
		strings.NewReader(string(text)))
	testset.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(s.Nodes[node].Socket, "unix://"))
		}}}
	answer, err := client.Do(request)
	testset.Must(t, err)
	defer func() { _ = answer.Body.Close() }() // only read
	if answer.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	if result != nil {
		testset.Must(t, json.NewDecoder(answer.Body).Decode(result))
	}
}

// State returns all objects of the swarm and its nodes, except images and fields that change by themselves.
func (s *Swarm) State(t *testing.T) deploytest.State {
	t.Helper()
	all := deploytest.State{}
	add := func(node int, path string, item map[string]any) {
		for _, field := range []string{"Version", "UpdatedAt", "Status", "ManagerStatus", "State", "Endpoint"} {
			delete(item, field)
		}
		text, err := json.Marshal(item)
		testset.Must(t, err)
		name := item["ID"]
		if name == nil {
			name = fmt.Sprint(item["Id"], item["Name"])
		}
		all[fmt.Sprintf("%s%s %v", s.Nodes[node].Name, path, name)] = string(text)
	}
	for _, path := range []string{"/services", "/secrets", "/configs", "/nodes"} {
		var list []map[string]any
		s.Call(t, 0, http.MethodGet, path, nil, &list)
		for _, item := range list {
			add(0, path, item)
		}
	}
	for node := range s.Nodes {
		for _, path := range []string{"/networks", "/containers/json?all=1"} {
			var list []map[string]any
			s.Call(t, node, http.MethodGet, path, nil, &list)
			for _, item := range list {
				if item["Name"] != "docker_gwbridge" && item["Ingress"] != true { // nodes make these at any time
					add(node, path, item)
				}
			}
		}
		var volumes struct{ Volumes []map[string]any }
		s.Call(t, node, http.MethodGet, "/volumes", nil, &volumes)
		for _, item := range volumes.Volumes {
			add(node, "/volumes", item)
		}
	}
	return all
}

// settlePatience limits how long Cleave's objects may take to disappear. Nodes remove containers a moment
// after their end. The sweeper of a killed conductor first waits half a minute for programs whose working
// folder is the conductor's: the daemons of these nodes look like such programs.
const settlePatience = 90 * time.Second

// Unchanged fails the test if the swarm does not return to a state within settlePatience.
func (s *Swarm) Unchanged(t *testing.T, before deploytest.State) {
	t.Helper()
	for deadline := time.Now().Add(settlePatience); ; time.Sleep(100 * time.Millisecond) {
		changes := before.Changes(s.State(t))
		if changes == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("what is the user's has changed:\n%s", changes)
			return
		}
	}
}
