// Package named uses database servers that the user runs, instead of private ones.
// Every trial has databases of its own there, whose names begin with "cleave_" and
// say which process made them; they go with the trial, and those of a process that
// is gone go before the next. What the server is, and what else it holds, is the
// user's matter: it is not metered and not started afresh, and About says so.
//
// Entry point: FromEnvironment.
package named

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cleave-lab/cleave/lab"
	"github.com/prometheus/procfs"
)

// variable holds the address of a server that the user names, credentials
// included: not an argument, which others could read.
const variable = "CLEAVE_USE_"

// schemes are the kinds of servers that can be named, with the scheme of their
// addresses.
func schemes() map[string]string {
	return map[string]string{"mariadb": "mariadb", "postgres": "postgres", "mongo": "mongodb"}
}

// Backing is one server of the user.
type Backing struct {
	kind    string
	address *url.URL
	trials  *atomic.Int64
}

var _ lab.PermanentBacking = Backing{}

// FromEnvironment are the servers that the variables CLEAVE_USE_MARIADB,
// CLEAVE_USE_POSTGRES and CLEAVE_USE_MONGO name, by kind.
func FromEnvironment(lookup func(string) (string, bool)) (map[string]Backing, error) {
	found, problems := map[string]Backing{}, []error(nil)
	for kind, scheme := range schemes() {
		name := variable + strings.ToUpper(kind)
		text, set := lookup(name)
		if !set {
			continue
		}
		address, err := parse(text, scheme)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		found[kind] = Backing{kind: kind, address: address, trials: new(atomic.Int64)}
	}
	return found, errors.Join(problems...)
}

// parse reads an address. Its errors do not repeat the password.
func parse(text, scheme string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("this is not a URL")
	}
	if u.Scheme != scheme || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("it is %s: use %s://user:password@127.0.0.1:port", u.Redacted(), scheme)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("it is on %s: a trial loads only servers on this host's loopback", u.Hostname())
	}
	u.Path = "/"
	return u, nil
}

// Kind implements lab.Backing.
func (b Backing) Kind() string { return b.kind }

// Preflight implements lab.Backing: whether the server can be had shows when the
// first trial asks for it.
func (b Backing) Preflight() error { return nil }

// Close implements lab.Backing.
func (b Backing) Close() error { return nil }

// Permanent implements lab.PermanentBacking.
func (b Backing) Permanent() string {
	return fmt.Sprintf("the %s server is the user's own, which cleave neither starts nor ends: leave CLEAVE_USE_%s out to have a private one killed",
		b.kind, strings.ToUpper(b.kind))
}

// Fresh implements lab.Backing.
func (b Backing) Fresh(ctx context.Context, _ lab.ServiceSpec, _ string) (lab.Service, error) {
	s := service{backing: b, prefix: owner() + strconv.FormatInt(b.trials.Add(1), 10) + "_"}
	version, err := s.version(ctx)
	if err == nil {
		err = b.remove(ctx, ownerIsGone)
	}
	if err != nil {
		return nil, fmt.Errorf("use the %s server at %s: %w", b.kind, b.address.Host, err)
	}
	s.about = fmt.Sprintf("%s %s at %s, run by the user: not metered, not fresh", b.kind, version, b.address.Host)
	return s, nil
}

// service is a set of databases during one trial: those whose names have a prefix.
type service struct {
	backing Backing
	prefix  string
	about   string
}

// Address implements lab.Service: the path is what names of databases begin with.
func (s service) Address() string {
	u := *s.backing.address
	u.Path = "/" + s.prefix
	return u.String()
}

// About implements lab.Service.
func (s service) About() string { return s.about }

// Processes implements lab.Service.
func (s service) Processes() []lab.Unit { return nil }

// Release implements lab.Service.
func (s service) Release() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.backing.remove(ctx, func(name string) bool { return strings.HasPrefix(name, s.prefix) })
}

// owner is what the names of this process's databases begin with: its number and
// when it was started.
func owner() string { return fmt.Sprintf("cleave_%d_%s_", os.Getpid(), startOf(os.Getpid())) }

// ownerIsGone reports whether the process that made a database is no more.
func ownerIsGone(database string) bool {
	parts := regexp.MustCompile(`^cleave_(\d+)_(\d+)_`).FindStringSubmatch(database)
	if parts == nil {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && startOf(pid) != parts[2]
}

// startOf is when a process was started, in clock ticks since boot, or "" where
// there is none.
func startOf(pid int) string {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return ""
	}
	stat, err := process.Stat()
	if err != nil {
		return ""
	}
	return strconv.FormatUint(stat.Starttime, 10)
}
