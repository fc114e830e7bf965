package fleet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Visit acts as a client at an address; it returns an error if it could not.
type Visit = func(ctx context.Context, address string) error

// outputPatience bounds how long the output of a command may stay open after its end.
const outputPatience = time.Second

// commandVisit returns a visit that runs the unit's readiness command on this host: it succeeds if the
// command exits with 0. The command has this host's environment and the unit's.
func commandVisit(spec lab.UnitSpec) Visit {
	return func(ctx context.Context, address string) error {
		var placeholders []string
		if host, port, err := net.SplitHostPort(address); err == nil {
			placeholders = []string{"{host}", host, "{port}", port}
		}
		fill := strings.NewReplacer(placeholders...)
		words := make([]string, len(spec.Readiness.Command))
		for i, word := range spec.Readiness.Command {
			words[i] = fill.Replace(word)
		}
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Dir, command.WaitDelay = spec.Dir, outputPatience
		command.Env = os.Environ()
		for _, variable := range spec.Env {
			command.Env = append(command.Env, fill.Replace(variable))
		}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
		runtime.LockOSThread() // Pdeathsig kills the command at the end of the thread that started it
		defer runtime.UnlockOSThread()
		output := &Tail{}
		command.Stdout, command.Stderr = output, output
		err := command.Run()
		switch last := output.lastLine(); {
		case err == nil:
			return nil
		case last != "":
			return fmt.Errorf("%s: %w: %s", words[0], err, last)
		}
		return fmt.Errorf("%s: %w", words[0], err)
	}
}

// direct makes the requests of health checks. Unlike http.DefaultTransport it ignores HTTP_PROXY, which is
// not meant for units.
var direct = &http.Transport{DisableKeepAlives: true}

// PortVisit returns a visit that performs a health check of a port: a GET of the check's path, or only the
// connection that AwaitVisit has made if it has no path.
func PortVisit(check *lab.HealthCheck) Visit {
	return func(ctx context.Context, address string) error {
		if check.Path == "" {
			return nil // tryOnce has connected
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+check.Path, nil)
		if err != nil {
			return err
		}
		answer, err := direct.RoundTrip(request) // follows no redirection: that is an answer, too
		if err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("GET %s: %s", check.Path, answer.Status)
		}
		_ = answer.Body.Close() // the status is enough
		return err
	}
}
