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
	// GRPC is true if these units, and all clients of this nginx, speak gRPC without TLS.
	GRPC bool
}

// Nginx returns a unit that runs nginx in front of other units, configured as by a good team on
// the defaults of distributions: two workers, persistent connections to the units, no access log.
// timeout limits the wait for an answer, in seconds. The route with the longest matching path wins;
// other paths are not found. A request that gets no connection goes to the next unit. One that was
// sent goes there only if repeating it is harmless (GET, HEAD, PUT).
func Nginx(name string, timeout int, routes ...Route) lab.UnitSpec {
	lines := []string{
		"daemon off;", "worker_processes 2;", "pid nginx.pid;", "user root root;", // used if it starts as root
		"events { worker_connections 2048; }",
		"http {",
		"  access_log off;",
		"  server_tokens off;",
	}
	for _, use := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		lines = append(lines, fmt.Sprintf("  %s_temp_path %s;", use, use)) // in the unit's folder
	}
	var behind, locations []string
	protocol := ""
	modules := []string{"proxy"} // each module has its own timeouts
	for n, route := range routes {
		lines = append(lines, fmt.Sprintf("  upstream route%d {", n))
		// Without max_fails=0, one failed connection would keep nginx from trying a unit for ten seconds.
		for _, unit := range route.To {
			lines = append(lines, "    server "+lab.AddressOf(unit)+" max_fails=0;")
		}
		lines = append(lines, "    keepalive 64;", "  }")
		pass := "proxy_pass http"
		if route.GRPC {
			pass = "grpc_pass grpc"
			protocol = " http2"
			modules = []string{"proxy", "grpc"}
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
	for _, module := range modules {
		lines = append(lines, fmt.Sprintf("    %s_connect_timeout 1s;", module),
			fmt.Sprintf("    %s_read_timeout %ds;", module, timeout))
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
