package loaded

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Route sends the requests whose path begins with Path to units, in turn.
type Route struct {
	Path string
	To   []string
	// GRPC says that these units speak gRPC, and so do all who call this nginx, over clear text.
	GRPC bool
}

// Nginx is nginx in front of units, as distributions configure it and a good team would:
// two workers, connections to the units that are kept, no log of requests. answer is how
// long an answer may take, in seconds. Of several routes the one with the longest path
// counts; other paths are not found. A request that finds no connection is sent to the
// next unit, one that was sent only where sending it twice does no harm (GET, HEAD, PUT).
func Nginx(name string, answer int, routes ...Route) lab.UnitSpec {
	lines := []string{
		"daemon off;", "worker_processes 2;", "pid nginx.pid;", "user root root;", // who it is where that is root
		"events { worker_connections 2048; }",
		"http {",
		"  access_log off;",
		"  server_tokens off;",
	}
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		lines = append(lines, fmt.Sprintf("  %s_temp_path %s;", what, what)) // in the unit's folder
	}
	var behind, locations []string
	protocol, limited := "", []string{"proxy"} // the kinds of routes, each of which has limits of its own
	for n, route := range routes {
		lines = append(lines, fmt.Sprintf("  upstream route%d {", n))
		for _, unit := range route.To {
			lines = append(lines, "    server "+lab.AddressOf(unit)+" max_fails=0;")
		}
		lines = append(lines, "    keepalive 64;", "  }")
		pass := "proxy_pass http"
		if route.GRPC {
			pass, protocol, limited = "grpc_pass grpc", " http2", []string{"proxy", "grpc"}
		}
		locations = append(locations, fmt.Sprintf("    location %s { %s://route%d; }", route.Path, pass, n))
		behind = append(behind, route.To...)
	}
	lines = append(lines,
		"  server {",
		"    listen {host}:{port}"+protocol+" backlog=1024;",
		"    keepalive_requests 1000000;",
		"    proxy_http_version 1.1;",
		`    proxy_set_header Connection "";`,
		"    proxy_set_header Host $host;")
	for _, kind := range limited {
		lines = append(lines, fmt.Sprintf("    %s_connect_timeout 1s;", kind),
			fmt.Sprintf("    %s_read_timeout %ds;", kind, answer))
	}
	lines = append(append(lines, locations...), "  }", "}")
	const file = "nginx.conf"
	return lab.UnitSpec{
		Name: name, Role: name,
		Runnable: lab.Runnable{
			Foreign: true, Program: "nginx", Install: lab.AptInstall("nginx-light"),
			Args:  []string{"-e", "stderr", "-p", "{dir}", "-c", file},
			Files: map[string][]byte{file: []byte(strings.Join(lines, "\n") + "\n")},
		},
		Networking: lab.Networking{Listens: true, Peers: behind},
		Placement:  lab.Placement{Scalable: true},
	}
}
