package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// HAProxy listens on two ports: clients, and its own console, which may read
// only.
const (
	frontPort = iota
	consolePort
	haproxyPorts
)

func haproxy() program {
	return program{
		ports: haproxyPorts, stop: syscall.SIGTERM,
		installed: func(Settings) (Installed, error) { return installed(HAProxy, "haproxy", "-v", "/usr/sbin") },
		prepare: func(_ context.Context, i *Instance) error {
			if len(i.settings.Backends) == 0 {
				return errors.New("Settings.Backends is empty: HAProxy needs the addresses between which it balances")
			}
			return i.write("haproxy.cfg", haproxyConfig(i)...)
		},
		processes: func(i *Instance) []process {
			return []process{{name: "haproxy", env: searchPath(), args: []string{i.path, "-db", "-f", i.file("haproxy.cfg")}}}
		},
		ready: allBackendsUp,
	}
}

// haproxyConfig balances HTTP over the backends. A backend that does not answer
// twice in half a second gets no more requests; one that refuses a connection
// gets none at once, and the request goes to another. A request that was sent is
// never sent again: it may have had its effect.
func haproxyConfig(i *Instance) []string {
	lines := []string{
		"global",
		fmt.Sprintf("  maxconn %d", 10*i.settings.Connections),
		"  stats socket ipv4@" + i.address(consolePort) + " level user",
		"defaults",
		"  mode http",
		"  option http-keep-alive",
		"  option redispatch 1",
		"  option dontlognull",
		"  http-reuse safe",
		"  retries 3",
		"  retry-on conn-failure",
		"  timeout connect 1s",
		"  timeout client 60s",
		"  timeout server 60s",
		"  timeout queue 5s",
		"  timeout check 1s",
		"  timeout http-request 10s",
		"frontend front",
		"  bind " + i.Address(),
		"  default_backend units",
		"backend units",
		"  balance roundrobin",
		"  option httpchk GET " + i.settings.HealthPath,
		"  default-server check inter 250ms fall 2 rise 1 observe layer4 error-limit 1 on-error mark-down",
	}
	for n, address := range i.settings.Backends {
		lines = append(lines, fmt.Sprintf("  server unit%d %s", n+1, address))
	}
	return lines
}

// allBackendsUp asks HAProxy's console: a client can work when every backend has
// passed its check.
func allBackendsUp(ctx context.Context, i *Instance) error {
	states, err := i.BackendStates(ctx)
	if err != nil {
		return err
	}
	for n, state := range states {
		if state != "UP" {
			return fmt.Errorf("backend %s is %s", i.settings.Backends[n], state)
		}
	}
	return nil
}

// BackendStates says what HAProxy thinks of its backends, in the order of
// Settings.Backends: UP, DOWN, on the way, such as "UP 1/2", or "not checked yet".
// HAProxy only.
func (i *Instance) BackendStates(ctx context.Context) ([]string, error) {
	if i.Kind != HAProxy {
		return nil, fmt.Errorf("states of backends: %s has none", i.Kind)
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp4", i.address(consolePort))
	if err != nil {
		return nil, fmt.Errorf("states of backends: %w", err)
	}
	defer func() { _ = connection.Close() }() // the answer is in
	_ = connection.SetDeadline(time.Now().Add(attemptWithin))
	if _, err := io.WriteString(connection, "show stat\n"); err != nil {
		return nil, fmt.Errorf("states of backends: %w", err)
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		return nil, fmt.Errorf("states of backends: %w", err)
	}
	return parseStates(string(answer), len(i.settings.Backends))
}

// parseStates reads the console's table of comma-separated values: a line of
// names behind "# ", then a line per part of the proxy.
func parseStates(table string, backends int) ([]string, error) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	names := strings.Split(strings.TrimPrefix(lines[0], "# "), ",")
	status, check := slices.Index(names, "status"), slices.Index(names, "check_status")
	states := make([]string, backends)
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		var n int
		if len(fields) <= max(status, check) || min(status, check) < 0 || fields[0] != "units" {
			continue
		}
		if _, err := fmt.Sscanf(fields[1], "unit%d", &n); err != nil || n < 1 || n > backends {
			continue
		}
		// A backend counts as UP until its first check says otherwise.
		states[n-1] = fields[status]
		if !strings.Contains(fields[check], "L7") && fields[status] == "UP" {
			states[n-1] = "not checked yet"
		}
	}
	if slices.Contains(states, "") {
		return nil, fmt.Errorf("states of backends: HAProxy's answer lacks one: %q", lines[0])
	}
	return states, nil
}
