package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/consent"
)

// destination is a parsed target URL.
type destination struct {
	scheme string // http, https, grpc or grpcs
	name   string // host name without brackets
	port   uint16
	host   string // for the header Host
	path   string // precedes every step's path; without a slash at its end
}

// newDestination parses the URL of a target.
func newDestination(text string) (destination, error) {
	u, err := url.Parse(text)
	var parsing *url.Error
	if errors.As(err, &parsing) {
		err = parsing.Err // our own message contains the text
	}
	hasNoHost := err != nil || u.Host == ""
	switch {
	case text == "":
		return destination{}, errors.New("no target: give its URL, for example http://127.0.0.1:8080")
	case err == nil && u.User != nil:
		return destination{}, errors.New("the URL of the target holds a user name or a password: send them " +
			"as a header: -H 'Authorization: ...'")
	case hasNoHost && strings.Contains(text, "@"):
		// Neither the text nor the error is shown: both may contain a password.
		return destination{}, errors.New("the URL of the target cannot be read (it is not shown: it may hold a " +
			"password): write for example http://127.0.0.1:8080/, and send a password as a header")
	case err != nil:
		return destination{}, fmt.Errorf("URL %q: %w: write for example http://127.0.0.1:8080/", text, err)
	case u.Hostname() == "":
		return destination{}, fmt.Errorf("URL %q names no host: write for example http://127.0.0.1:8080/", text)
	case u.RawQuery != "" || u.Fragment != "":
		return destination{},
			fmt.Errorf("URL %q: a target has neither a query nor a fragment: they belong to the steps", text)
	}
	d := destination{scheme: u.Scheme, name: u.Hostname(), host: u.Host,
		path: strings.TrimSuffix(u.EscapedPath(), "/")}
	d.port, err = portOf(u)
	return d, err
}

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(u *url.URL) (uint16, error) {
	own := map[string]uint16{"http": 80, "grpc": 80, "https": 443, "grpcs": 443}
	port, known := own[u.Scheme]
	if !known {
		return 0, fmt.Errorf("URL %q: scheme %q is not supported: use http, https, grpc or grpcs", u, u.Scheme)
	}
	if u.Port() == "" {
		return port, nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("URL %q: port %q is out of range: use 1 to 65535", u, u.Port())
	}
	return uint16(n), nil
}

// secure reports whether the target speaks TLS.
func (d destination) secure() bool { return d.scheme == "https" || d.scheme == "grpcs" }

// grpc reports whether the target is for gRPC only.
func (d destination) grpc() bool { return d.scheme == "grpc" || d.scheme == "grpcs" }

// web returns the scheme for HTTP on the same port.
func (d destination) web() string {
	if d.secure() {
		return "https"
	}
	return "http"
}

// origin returns scheme and host, as engines expect them.
func (d destination) origin() string { return d.web() + "://" + d.host }

// admit resolves the target's name and asks whether its addresses may be loaded. The name is resolved
// only here: the load never connects to other addresses.
func (t *Trial) admit(ctx context.Context) error {
	s := &t.spec
	if s.Unix != "" {
		t.ticket.Own = true // a file of this host
		return nil
	}
	guard := s.Guard
	if guard.Lookup == nil {
		guard.Lookup = lookUp
	}
	if guard.Fetch == nil {
		guard.Fetch = t.fetchProof
	}
	if guard.Reach == nil {
		guard.Reach = reachable
	}
	if guard.Now == nil {
		guard.Now = time.Now
	}
	ticket, err := guard.Admit(ctx, consent.Request{
		Scheme: t.at.web(), Host: t.at.name, Port: t.at.port,
		Rate: t.model.peak * float64(t.spec.Scenario.LongestFlow()), Duration: t.model.duration,
	})
	t.ticket = ticket
	return err
}

// lookUp resolves a name. The resolver returns IPv4 addresses in IPv6 form, which the guard would refuse,
// so lookUp converts them.
func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses, err
}
