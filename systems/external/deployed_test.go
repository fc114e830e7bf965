package external

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// inFolder returns a system whose command runs in a folder with a file named server.
func inFolder(t *testing.T, text string) Definition {
	t.Helper()
	d, err := parseBeside(projectFolder(t, map[string]string{"server": "",
		"compose.yaml": "services: {web: {image: web, ports: ['8080:80']}}"}), "name: it\n"+text)
	testset.Must(t, err)
	return d
}

// TestDeploymentsAreSystemsOfTheirOwn, whose names have the deployment if there are several.
func TestDeploymentsAreSystemsOfTheirOwn(t *testing.T) {
	const command = "command: sleep {port}\n"
	for name, test := range map[string]struct {
		text              string
		deployments, want []string // want has names and deployments
		folder            bool
	}{
		"its own":    {command, nil, []string{"it process"}, true},
		"the file's": {command + "deployment: docker-bridge", nil, []string{"it docker-bridge"}, true},
		"the flag's": {command + "deployment: docker-bridge", []string{"docker-host"},
			[]string{"it docker-host"}, true},
		"two": {command, []string{"process", "docker-host"},
			[]string{"it-process process", "it-docker-host docker-host"}, true},
		"another host": {command, []string{"ssh"}, []string{"it ssh"}, false},
		"a fixed port": {"command: sleep\nurl: http://127.0.0.1:8080/", []string{"docker-host"},
			[]string{"it docker-host"}, true},
		"image": {"image: nginx\nport: 80", nil, []string{"it docker-bridge"}, true},
		"image with command": {"image: nginx\ncommand: '{port}'", []string{"docker-host"},
			[]string{"it docker-host"}, true},
		"runs already": {"url: http://127.0.0.1:8080/", nil, []string{"it process"}, true},
		"compose files": {"url: http://127.0.0.1:8080/\ncompose: compose.yaml", nil,
			[]string{"it docker-bridge"}, true},
		"by the compose command": {"url: http://127.0.0.1:8080/\ncompose: compose.yaml", []string{"compose"},
			[]string{"it compose"}, true},
		"units and compose command": {"compose: compose.yaml", []string{"compose", "docker-bridge"},
			[]string{"it-compose compose", "it-docker-bridge docker-bridge"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := inFolder(t, test.text).In(test.deployments)
			var got []string
			for _, d := range all {
				got = append(got, d.Name+" "+d.Deployment)
				if (d.Dir != "") != test.folder {
					t.Errorf("%s runs in %q", d.Name, d.Dir)
				}
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("In(%q) = %q, %v; want %q", test.deployments, got, err, test.want)
			}
		})
	}
}

// TestImpossibleDeploymentsAreRefused before anything starts.
func TestImpossibleDeploymentsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, deployment, message string }{
		"unknown": {"command: sleep {port}", "moon", "there is no such deployment"},
		"URL":     {"url: http://127.0.0.1:8080/", "docker-host", "a URL runs where its owner has it"},
		"compose file": {"url: http://127.0.0.1:8080/\ncompose: compose.yaml", "docker-host",
			"a compose file runs on docker-bridge, swarm, kubernetes, where services find each other"},
		"image": {"image: nginx\nport: 80", "process",
			"use docker-bridge, docker-host, swarm or kubernetes"},
		"fixed port": {"command: sleep\nurl: http://127.0.0.1:8080/", "docker-bridge",
			"have the command listen on {host} and {port}"},
		"program here":   {"command: ./server {port}", "ssh", `its command names "./server"`},
		"file here":      {"command: cat server {port}", "kubernetes", `its command names "server"`},
		"folder here":    {"command: sleep {port}\ndir: .", "swarm", "(dir) is one of this host"},
		"reset here":     {"command: sleep {port}\nreset: true", "ssh", "its reset is a program of this host"},
		"all of a host":  {"command: sleep {port}\ndir: /", "docker-host", "a container has one of its own"},
		"no such folder": {"command: sleep {port}\ndir: none", "docker-host", "none: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inFolder(t, test.text).In([]string{"process", test.deployment})
			if err == nil || !strings.Contains(err.Error(), "system it with --deploy "+test.deployment+": ") ||
				!strings.Contains(err.Error(), test.message) {
				t.Errorf("In: %v, want it to name the system and the deployment, and to say %q", err, test.message)
			}
		})
	}
}

// TestUnreachedHint: it is given if the command may listen on the loopback address alone, or a compose file
// may not publish the port.
func TestUnreachedHint(t *testing.T) {
	compose := lab.Variant{Deployment: kindCompose, External: &lab.ExternalSystem{Compose: &lab.Compose{}}}
	if hint := unreachedHint(compose); !strings.Contains(hint, "publishes the port of the url") {
		t.Errorf("of a compose file: the hint is %q", hint)
	}
	for _, c := range []struct {
		deployment, command string
		hinted              bool
	}{
		{"process", "sleep {port}", false}, {"docker-host", "sleep {port}", false},
		{"docker-bridge", "sleep {port}", true}, {"swarm", "sleep {port}", true},
		{"swarm", "sleep {host}:{port}", false}, {"ssh", "", false},
	} {
		v := lab.Variant{Deployment: c.deployment,
			External: &lab.ExternalSystem{Command: strings.Fields(c.command)}}
		if hint := unreachedHint(v); (hint != "") != c.hinted {
			t.Errorf("%s of %q: the hint is %q", c.deployment, c.command, hint)
		}
	}
}
