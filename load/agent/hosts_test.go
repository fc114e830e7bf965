package agent

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// secondHost makes a network namespace that is connected to this one by a pair of addresses for
// benchmarking (RFC 2544). It returns our address and the prefix of commands that run something there.
func secondHost(t *testing.T) (address string, there []string) {
	t.Helper()
	name := fmt.Sprintf("cleave-test-%d", os.Getpid())
	veth := fmt.Sprintf("clv%d", os.Getpid()%100_000)
	ip := func(arguments string) error {
		text, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", arguments, err, text)
		}
		return nil
	}
	if err := ip("netns add " + name); err != nil {
		t.Skipf("a second host cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := ip("netns del " + name); err != nil {
			t.Error(err)
		}
	})
	const ours, theirs = "198.18.77.1", "198.18.77.2"
	for _, step := range []string{
		"link add " + veth + " type veth peer name eth0 netns " + name,
		"address add " + ours + "/30 dev " + veth,
		"link set " + veth + " up",
		"-n " + name + " address add " + theirs + "/30 dev eth0",
		"-n " + name + " link set eth0 up",
	} {
		if err := ip(step); err != nil {
			t.Skipf("a second host cannot be made here: %v", err)
		}
	}
	return ours, []string{"ip", "netns", "exec", name}
}

// TestIntegrationAgentsOnTwoHosts runs one agent here and one in the other namespace. Each asks for
// consent itself; the job says that Cleave made the hosts.
func TestIntegrationAgentsOnTwoHosts(t *testing.T) {
	address, there := secondHost(t)
	listener, err := net.Listen("tcp", address+":0")
	testset.Must(t, err)
	var mu sync.Mutex
	from := map[string]int64{} // requests by host
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		mu.Lock()
		from[host]++
		mu.Unlock()
		_, _ = io.WriteString(w, "fine")
	})
	server := httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)

	job := jobFor(t, server.URL)
	agents := [][]string{program(t, "agent"), append(there, program(t, "agent")...)}
	if _, err := (Group{Commands: agents, Job: job}).Play(t.Context(), Listeners{}); err == nil ||
		!strings.Contains(err.Error(), "no load on") {
		t.Errorf("error %v, want that the load is not permitted", err)
	}
	job.Made = []netip.Prefix{netip.MustParsePrefix(address + "/30").Masked()}
	o, err := Group{Commands: agents, Job: job}.Play(t.Context(), Listeners{})
	testset.Must(t, err)
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 2 || from[address] == 0 {
		t.Errorf("requests by host %v, want some from two", from)
	}
	var seen int64
	for _, n := range from {
		seen += n
	}
	if s := o.Summary; s.Sent != seen || s.Sent+s.Unsent != 100 {
		t.Errorf("%d sent and %d unsent, want 100; the server saw %d", s.Sent, s.Unsent, seen)
	}
}
