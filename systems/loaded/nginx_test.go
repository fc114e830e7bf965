package loaded

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// behind starts a server that answers with its name and the request.
func behind(t *testing.T, name string) lab.Endpoint {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the test sees if a part is missing
		_, _ = fmt.Fprintf(w, "%s %s %s %s", name, r.Method, r.URL.RequestURI(), body)
	}))
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	return lab.Endpoint{Bind: address, Dial: address}
}

// startFront runs a front as a deployer would, with its files, until the end of the test, and returns its
// address. It skips the test if the program is not installed.
func startFront(t *testing.T, unit lab.UnitSpec, endpoints map[string]lab.Endpoint) (address string) {
	t.Helper()
	testset.Need(t, "it starts "+unit.Program)
	program, err := exec.LookPath(unit.Program)
	if err != nil {
		t.Skipf("%v: type: scripts/need.sh test-all", err)
	}
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	address = fmt.Sprintf("127.0.0.1:%d", ports.Numbers[0])
	endpoints[unit.Name] = lab.Endpoint{Bind: address, Dial: address}
	dir := t.TempDir()
	testset.Must(t, fleet.MakeVolume(dir, unit, endpoints))
	var stderr bytes.Buffer
	placeholders := fleet.Placeholders(unit, dir, endpoints)
	command := exec.Command(program)
	command.Env = append(os.Environ(), fleet.Environment(unit, "", dir, endpoints)...)
	for _, argument := range unit.Args {
		command.Args = append(command.Args, placeholders.Replace(argument))
	}
	command.Stderr = &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	testset.Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); t.Failed() || err != nil &&
			command.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) { // the exit code of HAProxy's master
			t.Errorf("%s: %v: %.2000s", unit.Program, err, stderr.String())
		}
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close() // it listens
			return address
		}
	}
	t.Fatal("it does not listen")
	return ""
}

// TestTimeoutsAreSet for HTTP and for gRPC: nginx has separate ones.
func TestTimeoutsAreSet(t *testing.T) {
	for kind, route := range map[string]Route{"proxy": {Path: "/", To: []string{"one"}},
		"grpc": {Path: "/", To: []string{"one"}, GRPC: true}} {
		text := string(Nginx("front", 7, route).Files["nginx.conf"])
		for _, want := range []string{"_connect_timeout 1s;", "_read_timeout 7s;"} {
			if !strings.Contains(text, kind+want) {
				t.Errorf("there is no %s%s in %s", kind, want, text)
			}
		}
	}
}

// TestNginxRoutes: requests go to the route with the longest path, in turn to its units, past one that is
// gone, and arrive unchanged.
func TestNginxRoutes(t *testing.T) {
	gone, err := launch.ReservePorts(1)
	testset.Must(t, err)
	defer gone.Close()
	nobody := fmt.Sprintf("127.0.0.1:%d", gone.Numbers[0])
	endpoints := map[string]lab.Endpoint{
		"one": behind(t, "one"), "two": behind(t, "two"), "three": behind(t, "three"),
		"gone": {Bind: nobody, Dial: nobody},
	}
	unit := Nginx("front", 5, Route{Path: "/posts", To: []string{"one", "gone", "two"}},
		Route{Path: "/posts/new", To: []string{"three"}})
	if want := []string{"one", "gone", "two", "three"}; !slices.Equal(unit.Peers, want) {
		t.Errorf("peers %v, want %v", unit.Peers, want)
	}
	address := startFront(t, unit, endpoints)
	ask := func(method, path string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path,
			strings.NewReader(`{"a":1}`))
		testset.Must(t, err)
		answer, err := http.DefaultClient.Do(request)
		testset.Must(t, err)
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		testset.Must(t, err)
		return answer.StatusCode, string(body)
	}
	took := map[string]int{}
	for range 40 {
		status, answer := ask(http.MethodPost, "/posts/7?start=1%202&x=%2F")
		name, rest, _ := strings.Cut(answer, " ")
		if took[name]++; status != http.StatusOK || rest != `POST /posts/7?start=1%202&x=%2F {"a":1}` {
			t.Fatalf("%d %q", status, answer)
		}
	}
	if took["one"] < 10 || took["two"] < 10 || len(took) != 2 {
		t.Errorf("answers by unit: %v", took)
	}
	if _, answer := ask(http.MethodGet, "/posts/new/1"); answer != `three GET /posts/new/1 {"a":1}` {
		t.Errorf("a longer path: %q", answer)
	}
	if status, answer := ask(http.MethodGet, "/"); status != http.StatusNotFound {
		t.Errorf("a path of no route: %d %q", status, answer)
	}
}
