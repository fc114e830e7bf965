// Package named uses servers of the user instead of private ones. Every trial has its own
// databases, or queues and exchanges, there. Their names begin with "cleave_" and the id of
// the process that created them. They are removed at the end of the trial; those of dead
// processes are removed before the next trial. The server itself is not restarted and not
// metered, as About says.
//
// Entry points: FromEnvironment, Clean.
package named

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

// Backing is one server of the user, as the backing of one kind that it provides.
type Backing struct {
	lab.Backing
	server  product
	address *url.URL
	trials  *atomic.Int64 // the number of trials so far, for their names
}

// FromEnvironment returns the servers that the variables CLEAVE_USE_MARIADB,
// CLEAVE_USE_POSTGRES, CLEAVE_USE_MONGO and CLEAVE_USE_RABBITMQ name, by the kinds of
// backing services that they replace. A variable that is empty names none.
func FromEnvironment(lookup func(string) (string, bool)) (map[string]Backing, error) {
	found := map[string]Backing{}
	var problems []error
	for _, server := range products() {
		text, set := lookup(server.variable())
		if !set || text == "" {
			continue
		}
		address, err := server.parse(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", server.variable(), err))
			continue
		}
		trials := new(atomic.Int64) // shared by all kinds, so that names of trials differ
		for _, kind := range server.kinds {
			b := Backing{server: server, address: address, trials: trials}
			b.Backing = lab.Backing{Kind: kind, Preflight: b.preflight, Fresh: b.fresh, Loopback: true,
				Permanent: fmt.Sprintf("the %s server is the user's own, which cleave neither starts nor ends: leave %s "+
					"out to have a private one killed", server.name, server.variable())}
			found[kind] = b
		}
	}
	return found, errors.Join(problems...)
}

// Variable returns the name of the variable that names the server.
func (b Backing) Variable() string { return b.server.variable() }

// preflight only checks that the server accepts connections. A wrong password is found by fresh.
func (b Backing) preflight() error {
	connection, err := net.DialTimeout("tcp", b.address.Host, answersWithin)
	if err != nil {
		return fmt.Errorf("no %s server answers at %s (%w): start it, or leave %s out to have a private one",
			b.server.name, b.address.Host, err, b.Variable())
	}
	return connection.Close()
}

// Look asks the server for its version, and returns a description: "postgres 15.8 at 127.0.0.1:5432".
func (b Backing) Look(ctx context.Context) (string, error) {
	version, err := b.version(ctx)
	if err != nil {
		return "", fmt.Errorf("use the %s server at %s: %w", b.server.name, b.address.Host, err)
	}
	return fmt.Sprintf("%s %s at %s", b.server.name, version, b.address.Host), nil
}

// fresh returns the part of the server that belongs to a trial: all names there begin with its prefix. There
// is nothing to start: the server runs already.
func (b Backing) fresh(ctx context.Context, _ lab.ServiceSpec, _ string) (lab.Service, error) {
	about, err := b.Look(ctx)
	if err != nil {
		return lab.Service{}, err
	}
	if _, _, err := b.clean(ctx); err != nil {
		return lab.Service{}, err
	}
	owner, err := owner()
	if err != nil {
		return lab.Service{}, err
	}
	prefix := owner + strconv.FormatInt(b.trials.Add(1), 10) + "_"
	return lab.Service{
		Address: func(string) string { return b.addressOf(prefix) },
		About:   func() string { return about + ", run by the user: not metered, not fresh" },
		Release: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
			defer cancel()
			return b.remove(ctx, func(name string) bool { return strings.HasPrefix(name, prefix) })
		},
	}, nil
}

// addressOf returns the address of the server with the prefix of a trial's names.
func (b Backing) addressOf(prefix string) string {
	u := *b.address
	if b.server.name == rabbitmq { // its path is a virtual host
		query := u.Query()
		query.Set("prefix", prefix)
		u.RawQuery = query.Encode()
	} else {
		u.Path = "/" + prefix
	}
	return u.String()
}

// Clean removes the leftovers of dead processes on servers and returns their names. unclear
// lists leftovers of processes that cannot be checked from here, for example because they
// belong to another container. These are not removed.
func Clean(ctx context.Context, servers map[string]Backing) (removed, unclear []string, err error) {
	for _, kind := range slices.Sorted(maps.Keys(servers)) {
		b := servers[kind]
		if kind != b.server.name {
			continue // the server is also listed under its own name
		}
		names, others, cleanErr := b.clean(ctx)
		for _, name := range names {
			removed = append(removed, b.where(name))
		}
		for _, name := range others {
			unclear = append(unclear,
				b.where(name)+": whether the cleave that made it still runs cannot be told from here: "+
					"it belongs to another host or container, or to a time before the last start of this host")
		}
		err = errors.Join(err, cleanErr)
	}
	return removed, unclear, err
}

// where returns a name together with its server, for messages.
func (b Backing) where(name string) string {
	return fmt.Sprintf("%s on %s at %s", name, b.server.name, b.address.Host)
}

// clean removes the leftovers on one server. It returns the same as Clean, but names without the server.
func (b Backing) clean(ctx context.Context) (removed, unclear []string, err error) {
	fates := map[string]launch.Fate{} // by name; remove may ask for a name twice
	err = b.remove(ctx, func(name string) bool {
		owner, ours := ownerOf(name)
		if !ours {
			return false
		}
		if _, known := fates[name]; !known {
			fates[name] = owner.Fate()
		}
		return fates[name] == launch.Ended
	})
	for _, name := range slices.Sorted(maps.Keys(fates)) {
		switch fates[name] {
		case launch.Ended:
			removed = append(removed, name)
		case launch.Unknown:
			unclear = append(unclear, name)
		}
	}
	if err != nil {
		err = fmt.Errorf("remove what is left of earlier runs on the %s server at %s: %w", b.server.name,
			b.address.Host, err)
	}
	return removed, unclear, err
}

// owner returns the beginning of all names that belong to this process.
func owner() (string, error) {
	own, err := launch.Own()
	return "cleave_" + strings.ReplaceAll(own.String(), "-", "_") + "_", err
}

// ownerOf returns the process to which a name belongs. ours is false if Cleave has not created the name: its
// names have only lower-case letters, digits and underscores.
func ownerOf(name string) (owner launch.ID, ours bool) {
	form := regexp.MustCompile(`^cleave_([0-9a-f]+)_(\d+)_(\d+)_[a-z0-9_]*$`)
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return launch.ID{}, false
	}
	return launch.ParseID(strings.Join(parts[1:], "-"))
}
