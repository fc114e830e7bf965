package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/systems/shop"
)

// TestWrongCredentialsAreNamed: the error of a unit that a server refuses has the kind of
// server and the reason, but not the password.
func TestWrongCredentialsAreNamed(t *testing.T) {
	for kind, c := range map[server.Kind]struct{ architecture, knob, service, want string }{
		server.MariaDB:  {"monolith", "database", "DATABASE", "Access denied for user 'cleave'"},
		server.Postgres: {"monolith", "database", "DATABASE", "password authentication failed for user"},
		server.RabbitMQ: {"async", "broker", "BROKER", "username or password not allowed"},
		server.NATS:     {"async", "broker", "BROKER", "Authorization Violation"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			servers.Need(t, kind)
			t.Parallel()
			instance := servers.Started(t, kind, server.Settings{})
			unit := exec.Command(filepath.Join(binaries, "unit", shop.Name),
				fmt.Sprintf(`{"architecture":%q,"knobs":{%q:%q},"unit":"%s"}`, c.architecture, c.knob, kind,
					unitOf(c.architecture)))
			unit.Env = []string{ // the last variable replaces an earlier one of the same name
				"CLEAVE_UNIT=one", "CLEAVE_DIR=" + t.TempDir(), "CLEAVE_ADDRESS=127.0.0.1:9",
				"CLEAVE_SERVICE_DATABASE=sqlite://" + t.TempDir(), "CLEAVE_SERVICE_DOCUMENTS=sqlite://" + t.TempDir(),
				fmt.Sprintf("CLEAVE_SERVICE_%s=%s://cleave:s3same@%s", c.service, scheme(kind), instance.Address()),
			}
			if _, err := unit.StdinPipe(); err != nil { // kept open: its end would end the unit
				t.Fatal(err)
			}
			said, err := unit.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("the unit ended with %v, want code 1", err)
			}
			if !strings.Contains(string(said), c.want) || !strings.Contains(string(said), string(kind)) ||
				strings.Contains(string(said), "s3same") {
				t.Errorf("the unit says %s, want %q, the server's name and no password", said, c.want)
			}
			if kind != server.NATS { // no variable CLEAVE_USE_ names a NATS of the user
				expectRefused(t, kind, c.architecture, instance.Address(), c.want)
			}
		})
	}
}

// expectRefused makes cleave use a server of the user with a wrong password, and checks its error.
func expectRefused(t *testing.T, kind server.Kind, architecture, address, want string) {
	t.Helper()
	e := &experiment{t: t, dir: t.TempDir()}
	e.startCommand(with(program("", "check", "shop", "--architecture", architecture, "--backing", string(kind),
		"--results", e.dir), fmt.Sprintf("CLEAVE_USE_%s=%s://cleave:s3same@%s", strings.ToUpper(string(kind)),
		scheme(kind), address)))
	if code := e.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	expectTexts(t, "standard error", e.errOut.String(), fmt.Sprintf("use the %s server at %s", kind, address),
		want)
	if strings.Contains(e.errOut.String(), "s3same") {
		t.Error("standard error has the password")
	}
}

// unitOf returns the name of a unit that connects to the servers of the test.
func unitOf(architecture string) string {
	if architecture == "async" {
		return "catalog"
	}
	return "shop"
}

// scheme returns the scheme of URLs of a server.
func scheme(kind server.Kind) string {
	if kind == server.RabbitMQ {
		return "amqp"
	}
	return string(kind)
}
