package behaviour

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/airline/calls"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/unit"
)

// asUnit as the first argument makes this test program a unit of the airline.
const asUnit = "airline"

func TestMain(m *testing.M) {
	tests := func() int {
		defer classes.remove() // the archive for units in Java (java_test.go)
		return m.Run()
	}
	servers.Main(tests, map[string]func([]string) error{asUnit: func([]string) error {
		channel, err := unit.Open()
		if err == nil {
			err = airlineunit.Run(channel, "{}")
		}
		if err != nil && !errors.Is(err, unit.ErrGone) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2) // as the other runtimes do
		}
		return nil
	}})
}

// runtime is an implementation of the airline: a language and the program of its units.
type runtime struct {
	name    string
	program string
	args    []string
	// options are variables of the environment for the language itself.
	options []string
	// patience is the time limit for the start, and for the end, of a unit; 0: the usual one.
	patience time.Duration
}

// runtimes returns the runtimes of the project, Go first; those that are not built have no file.
func runtimes(t *testing.T) []runtime {
	own, err := os.Executable()
	testset.Must(t, err)
	built, err := filepath.Abs("../../../bin/airline")
	testset.Must(t, err)
	return []runtime{
		{name: "go", program: own, args: []string{asUnit}},
		{name: "java", program: filepath.Join(built, "java", "run")},
		{name: "node", program: filepath.Join(built, "node", "run")},
	}
}

// eachRuntime runs a test for each runtime that is built, side by side: most of it is waiting.
func eachRuntime(t *testing.T, run func(t *testing.T, r runtime)) {
	for _, r := range runtimes(t) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if r.name != "go" {
				testset.Need(t, "it starts the airline in another runtime than Go")
			}
			if _, err := os.Stat(r.program); err != nil {
				t.Skipf("the airline in %s is not built (make airline): %v", r.name, err)
			}
			if r.name == "java" {
				r.options = classes.options(t, r)
			}
			run(t, r)
		})
	}
}

// architectures returns the units of each architecture.
func architectures() map[string][]string {
	return map[string][]string{"monolith": {Monolith}, "services": {Customers, Auth, Flights, Bookings}}
}

// process is a unit that runs, or was killed.
type process struct {
	runtime
	unit, address string
	environment   []string
	command       *exec.Cmd
	stderr        hostingtest.Output
	ended         chan error
}

// begin starts the unit and returns when it is healthy.
func (p *process) begin(launcher *launch.Launcher) error {
	p.command = exec.Command(p.program, p.args...)
	p.command.Env = append(p.environment, p.options...)
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := p.command.StdinPipe(); err != nil { // a unit of ours ends when it is closed
		return err
	}
	if err := launcher.Start(p.command); err != nil {
		return err
	}
	p.ended = make(chan error, 1)
	go func(ended chan error, command *exec.Cmd) { ended <- command.Wait() }(p.ended, p.command)
	patience := cmp.Or(p.patience, time.Minute)
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-p.ended:
			return fmt.Errorf("unit %s ended before it was healthy: %w: %s", p.unit, err, p.stderr.String())
		default:
		}
		if healthy(p.address) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("unit %s is not healthy after %v", p.unit, patience), p.kill())
}

func healthy(address string) bool {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/health")
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	<-p.ended // the error only says that it was killed
	return nil
}

// terminate ends the unit as deployers do, and expects it to end well and soon.
func (p *process) terminate() error {
	if p.ended == nil { // it has not begun
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("unit %s: %w", p.unit, err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("unit %s, after SIGTERM: %w", p.unit, err)
		}
		return nil
	case <-time.After(cmp.Or(p.patience, soon)):
		return errors.Join(fmt.Errorf("unit %s did not end within %s", p.unit, cmp.Or(p.patience, soon)), p.kill())
	}
}

// startProcesses starts an airline of a runtime, with a front of the suite's own. All of
// it ends with the test, and must end well.
func startProcesses(t *testing.T, r runtime, units []string, settings map[string]string) *Airline {
	t.Helper()
	ports, err := launch.ReservePorts(len(units) + 1)
	testset.Must(t, err)
	launcher := launch.NewLauncher()
	t.Cleanup(func() { launcher.Close(); ports.Close() })
	all := map[string]*process{}
	addresses := map[string]string{}
	for i, name := range units {
		addresses[name] = launch.Loopback(ports.Numbers[i])
	}
	a := &Airline{Units: map[string]string{}}
	var beginning, ending errgroup.Group // all units at once
	for _, name := range units {
		p := &process{runtime: r, unit: name, address: addresses[name],
			environment: environment(t, name, addresses, settings)}
		all[name] = p
		a.Units[name] = "http://" + p.address
		beginning.Go(func() error { return p.begin(launcher) })
	}
	t.Cleanup(func() {
		for _, p := range all {
			ending.Go(p.terminate)
		}
		if err := ending.Wait(); err != nil {
			t.Error(err)
		}
		for _, p := range all {
			if t.Failed() || p.stderr.String() != "" {
				t.Logf("standard error of unit %s: %s", p.unit, p.stderr.String())
			}
		}
	})
	testset.Must(t, beginning.Wait())
	a.Kill = func(unit string) error { return all[unit].kill() }
	a.Restart = func(unit string) error { return all[unit].begin(launcher) }
	a.Stderr = func(unit string) string { return all[unit].stderr.String() }
	a.Front = serveFront(t, launch.Loopback(ports.Numbers[len(units)]), a.Units)
	return a
}

// environment returns the variables with which deployers start a unit.
func environment(t *testing.T, name string, addresses, settings map[string]string) []string {
	dir := t.TempDir()
	variables := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + dir, "CLEAVE_UNIT=" + name,
		"CLEAVE_DIR=" + dir,
		"CLEAVE_ADDRESS=" + addresses[name],
		"AIRLINE_UNIT=" + name, "AIRLINE_DATA=" + filepath.Join(dir, "data"),
	}
	for peer, address := range addresses {
		variables = append(variables, "CLEAVE_ADDRESS_"+strings.ToUpper(peer)+"="+address)
	}
	for setting, value := range settings {
		variables = append(variables, setting+"="+value)
	}
	return variables
}

// serveFront serves the suite's own proxy and returns its base URL.
func serveFront(t *testing.T, address string, units map[string]string) string {
	t.Helper()
	front, err := newFront(units)
	testset.Must(t, err)
	listener, err := net.Listen("tcp", address)
	testset.Must(t, err)
	server := &http.Server{Handler: front, ReadHeaderTimeout: soon}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return "http://" + address
}

func TestAirlines(t *testing.T) {
	eachRuntime(t, func(t *testing.T, r runtime) {
		for name, units := range architectures() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				Suite(t, func(t *testing.T, settings map[string]string) *Airline {
					return startProcesses(t, r, units, settings)
				})
			})
		}
	})
}

// TestAirlinesOverMongo plays the suite on a server that all units share. A monolith of
// the same stores would only take as long again.
func TestAirlinesOverMongo(t *testing.T) {
	eachRuntime(t, func(t *testing.T, r runtime) {
		instance := servers.Started(t, server.Mongo, server.Settings{})
		Suite(t, func(t *testing.T, settings map[string]string) *Airline {
			settings["AIRLINE_STORE"] = "mongodb"
			settings["CLEAVE_SERVICE_DATABASE"] = instance.URL()
			a := startProcesses(t, r, architectures()["services"], settings)
			a.SkipSlow = true
			return a
		})
	})
}

// TestAirlinesOverGRPC plays the suite on services that call each other over gRPC.
func TestAirlinesOverGRPC(t *testing.T) {
	eachRuntime(t, func(t *testing.T, r runtime) {
		Suite(t, func(t *testing.T, settings map[string]string) *Airline {
			settings["AIRLINE_CALLS"] = "grpc"
			settings["AIRLINE_POOL"] = "on"
			a := startProcesses(t, r, architectures()["services"], settings)
			a.Reconnect = 3 * time.Second
			a.SkipSlow = true
			return a
		})
	})
}

// TestAirlinesWithProtectedCalls books at services that identify themselves to each other and guard their
// calls, over HTTP and over gRPC. A client without an identity gets no internal answers, not even at the
// address that is open to customers. Only the airline in Go has both.
func TestAirlinesWithProtectedCalls(t *testing.T) {
	units := architectures()["services"]
	for _, by := range []string{"http", "grpc"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			dir := hostingtest.Identities(t, kit.MutualTLS, units...)
			a := startProcesses(t, runtimes(t)[0], units, with(map[string]string{"AIRLINE_CALLS": by,
				"AIRLINE_POOL": "on", "AIRLINE_SECURITY": kit.MutualTLS, "CLEAVE_DIR": dir,
				"AIRLINE_RESILIENCE": kit.Guarded}))
			s := newSession(t, a, 0)
			s.book("ATH-AMS-20260227-1", "ATH-AMS-20260227-2")
			s.refused("a client without an identity", s.askUnit(Customers, "POST", "/internal/check",
				`{"login":"c1","password":"password-1"}`), "unknown-path")
		})
	}
}

// TestAirlinesLogRequests, in Go alone: each request of a customer, and each call of another unit, has a
// line, and no line shows a token.
func TestAirlinesLogRequests(t *testing.T) {
	called := map[string]string{"http": `"operation":"GET /internal/sessions/*","status":200`,
		"grpc": `"operation":"/cleave.airline.v1.Auth/FindSession","status":"ok"`}
	for by, ofAuth := range called {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			a := startProcesses(t, runtimes(t)[0], architectures()["services"], with(map[string]string{
				"AIRLINE_CALLS": by, "AIRLINE_POOL": "on", "AIRLINE_LOGGING": kit.LogRequests}))
			s := newSession(t, a, 0)
			s.book("ATH-AMS-20260227-1", "ATH-AMS-20260227-2")
			for unit, want := range map[string]string{Auth: ofAuth,
				Bookings: `"operation":"POST /bookings","status":201`} {
				for end := time.Now().Add(time.Minute); !strings.Contains(a.Stderr(unit), want); {
					if time.Now().After(end) {
						t.Fatalf("%s has not logged %s: %s", unit, want, a.Stderr(unit))
					}
					time.Sleep(10 * time.Millisecond)
				}
				if strings.Contains(a.Stderr(unit), s.token) {
					t.Errorf("%s has logged a session: %s", unit, a.Stderr(unit))
				}
			}
		})
	}
}

// TestUnitsSpeakOneGRPC calls units of every language with the client of one language: so they must follow
// the description, not only agree with themselves.
func TestUnitsSpeakOneGRPC(t *testing.T) {
	eachRuntime(t, func(t *testing.T, r runtime) {
		a := startProcesses(t, r, architectures()["services"],
			with(map[string]string{"AIRLINE_CALLS": "grpc", "AIRLINE_POOL": "on"}))
		s := newSession(t, a, 0)
		unit := map[string]*calls.Client{}
		for _, name := range []string{Auth, Customers, Flights} {
			connection, err := grpcgo.NewClient(strings.TrimPrefix(a.Units[name], "http://"), nil, nil)
			testset.Must(t, err)
			defer func() { testset.Must(t, connection.Close()) }()
			unit[name] = calls.NewClient(connection)
		}
		session, err := unit[Auth].Session(t.Context(), s.token)
		if err != nil || session.Login != s.login || time.Until(session.Expires) < 25*time.Minute {
			t.Errorf("auth says of a session: %+v, %v", session, err)
		}
		found, err := unit[Flights].Flight(t.Context(), "ATH-AMS-20260227-2")
		want := expected("ATH", "AMS", "2026-02-27", 67)[1] // the day's second; it takes 67 minutes
		if got := (flight{found.ID, found.From, found.To, found.Departs.Format(time.RFC3339), found.Minutes,
			found.Price}); err != nil || !sameFlights([]flight{got}, []flight{want}) {
			t.Errorf("flights says of a flight: %+v, %v, want %+v", got, err, want)
		}
		_, noSession := unit[Auth].Session(t.Context(), strings.Repeat("0", 32))
		_, noFlight := unit[Flights].Flight(t.Context(), "ATH-AMS-20260227-99")
		for want, err := range map[rpc.Kind]error{
			airline.NoSession: noSession, airline.UnknownFlight: noFlight,
			airline.WrongCredentials: unit[Customers].Check(t.Context(), "c1", "x"),
		} {
			if err == nil || airline.ProblemOf(err).Kind != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if err := unit[Customers].Check(t.Context(), "c1", "password-1"); err != nil {
			t.Errorf("customers says of a password: %v", err)
		}
	})
}

func TestWrongSettingsAreNamed(t *testing.T) {
	eachRuntime(t, func(t *testing.T, r runtime) {
		for variable, value := range map[string]string{
			"AIRLINE_UNIT": "everything", "AIRLINE_STORE": "paper", "AIRLINE_CUSTOMERS": "0", "AIRLINE_AIRPORTS": "31",
			"AIRLINE_DAYS": "many", "AIRLINE_FLIGHTS": "-1",
			"AIRLINE_FIRST_DAY": "2026-02-30", "AIRLINE_SESSION_SECONDS": "1.5", "AIRLINE_SESSIONS": "maybe",
			"AIRLINE_POOL":  "yes",
			"AIRLINE_CALLS": "soap",
		} {
			command := exec.Command(r.program, r.args...)
			command.Env = append(environment(t, Monolith, map[string]string{Monolith: "127.0.0.1:1"},
				map[string]string{variable: value}), r.options...)
			var stderr bytes.Buffer
			command.Stderr = &stderr
			err := command.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(stderr.String(), variable) ||
				!strings.Contains(stderr.String(), value) {
				t.Errorf("%s=%s: %v: %s", variable, value, err, stderr.String())
			}
			if lines := strings.Count(strings.TrimSpace(stderr.String()), "\n"); lines > 0 {
				t.Errorf("%s=%s: reported in %d lines: %s", variable, value, lines+1, stderr.String())
			}
		}
	})
}
