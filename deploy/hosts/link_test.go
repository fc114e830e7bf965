package hosts

import (
	"strings"
	"testing"
)

// TestALimitedLinkHoldsItsRate, also of a host that was killed, and a probe tells when it does
// not: in whichever direction.
func TestALimitedLinkHoldsItsRate(t *testing.T) {
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	s, err := Make(t.Context(), "000000-6-6", "narrow")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	h := s.Hosts()[0]
	if err := h.Limit(t.Context(), 2e6); err != nil {
		t.Fatal(err)
	}
	if proof, err := h.ProbeRate(t.Context()); err != nil || !strings.Contains(proof, "410000 bytes took ") {
		t.Errorf("limited: %q, %v", proof, err)
	}
	if err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if proof, err := h.ProbeRate(t.Context()); err != nil {
		t.Errorf("killed and booted: %q, %v", proof, err)
	}
	h.rate = 1e5
	if _, err := h.ProbeRate(t.Context()); err == nil || !strings.Contains(err.Error(), "does not hold its rate") {
		t.Errorf("with another rate: %v", err)
	}
	h.rate = 2e6
	if err := in(t.Context(), h.pid, "tc", "qdisc del dev eth0 root"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ProbeRate(t.Context()); err == nil || !strings.Contains(err.Error(), "does not hold its rate") {
		t.Errorf("without a limit from the host: %v", err)
	}
}
