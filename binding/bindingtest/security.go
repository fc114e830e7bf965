package bindingtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/internal/testset"
)

// The names in the certificates of caller and callee.
const caller, callee = "caller", "callee"

// identities returns both ends of mutual TLS, with certificates of the same authority.
func identities(t *testing.T) (ofCaller, ofCallee *secure.Transport) {
	authority := newAuthority(t)
	return transport(t, issued(t, authority, caller), true), transport(t, issued(t, authority, callee), true)
}

func newAuthority(t *testing.T) *secure.Authority {
	t.Helper()
	authority, err := secure.NewAuthority()
	testset.Must(t, err)
	return authority
}

func issued(t *testing.T, by *secure.Authority, name string) []byte {
	t.Helper()
	identity, err := by.Issue(name)
	testset.Must(t, err)
	return identity
}

// expired returns an identity that was valid until a second ago.
func expired(t *testing.T, by *secure.Authority, name string) []byte {
	t.Helper()
	identity, err := by.IssueFor(time.Now().Add(-time.Hour), time.Now().Add(-time.Second), name)
	testset.Must(t, err)
	return identity
}

// transport returns the TLS of a unit with an identity. If mutual is set, the unit presents its certificate
// as a caller, and requires one of its callers.
func transport(t *testing.T, identity []byte, mutual bool) *secure.Transport {
	t.Helper()
	made, err := secure.New(identity, mutual)
	testset.Must(t, err)
	return made
}

// trusting replaces the authority in an identity by that of another one.
func trusting(identity, other []byte) []byte {
	const begin = "-----BEGIN CERTIFICATE-----"
	own := identity[:strings.LastIndex(string(identity), begin)]
	return append(own, other[strings.LastIndex(string(other), begin):]...)
}

// refusesStrangers: a peer without the right certificate is neither called nor served.
func refusesStrangers(t *testing.T, b Binding) {
	ours := newAuthority(t)
	others := newAuthority(t)
	callerID := issued(t, ours, caller)
	calleeID := issued(t, ours, callee)
	for name, c := range map[string]struct {
		caller, callee *secure.Transport
		why            string // a part of the caller's error; empty if the callee refuses
	}{
		"a callee whose certificate has expired": {transport(t, callerID, false),
			transport(t, expired(t, ours, callee), false), "expired"},
		"a callee of another trial": {transport(t, callerID, false), transport(t, issued(t, others, callee), false),
			"unknown authority"},
		"a callee by another name": {transport(t, callerID, false),
			transport(t, issued(t, ours, "stranger"), false), "is valid for stranger"},
		"a caller whose certificate has expired": {transport(t, expired(t, ours, caller), true),
			transport(t, calleeID, true), ""},
		"a caller of another trial": {transport(t, trusting(issued(t, others, caller), callerID), true),
			transport(t, calleeID, true), ""},
		"a caller without a certificate": {transport(t, callerID, false), transport(t, calleeID, true), ""},
		"a caller without TLS":           {nil, transport(t, calleeID, false), ""},
		"a callee without TLS":           {transport(t, callerID, false), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, b, "tcp", c.caller, c.callee)
			ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
			defer cancel()
			_, err := x.client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "hello"})
			if err == nil || x.service.asked.Load() > 0 {
				t.Fatalf("error %v, the callee was asked %d times, want a refusal", err, x.service.asked.Load())
			}
			both := c.caller != nil && c.callee != nil
			isOtherKind := both && kind(err) != rpc.Unavailable
			if isOtherKind || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want %s because of %q", err, rpc.Unavailable, c.why)
			}
		})
	}
}
