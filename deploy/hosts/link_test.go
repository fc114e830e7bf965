package hosts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestALimitedLinkHoldsItsRate checks that a limited link holds its rate, also after its host was killed, and
// that ProbeRate fails if the link does not hold the rate in some direction.
func TestALimitedLinkHoldsItsRate(t *testing.T) {
	h := newSet(t, "000000-6-6", "narrow").Hosts()[0]
	testset.Must(t, h.Limit(t.Context(), 2e6))
	if proof, err := h.ProbeRate(t.Context()); err != nil || !strings.Contains(proof, "410000 bytes took ") {
		t.Errorf("limited: %q, %v", proof, err)
	}
	testset.Must(t, h.Kill(t.Context()))
	testset.Must(t, h.Boot(t.Context()))
	if proof, err := h.ProbeRate(t.Context()); err != nil {
		t.Errorf("killed and booted: %q, %v", proof, err)
	}
	h.rate = 1e5
	if _, err := h.ProbeRate(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "does not hold its rate") {
		t.Errorf("with another rate: %v", err)
	}
	h.rate = 2e6
	testset.Must(t, In(t.Context(), h.First(), "tc", "qdisc del dev eth0 root"))
	if _, err := h.ProbeRate(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "does not hold its rate") {
		t.Errorf("without a limit from the host: %v", err)
	}
	testset.Must(t, errors.Join(h.Limit(t.Context(), 2e6), h.Limit(t.Context(), 0)))
	here, there, err := h.connect(t.Context())
	testset.Must(t, err)
	const bytes = 4e6 // at the former rate they would take 2 s
	to, err := transferTime(here, there, bytes)
	from, failed := transferTime(there, here, bytes)
	if err := errors.Join(err, failed, here.Close(), there.Close()); err != nil || to > time.Second ||
		from > time.Second {
		t.Errorf("with the limit lifted %d bytes took %v and %v (%v)", int(bytes), to, from, err)
	}
}

// TestWhatProvesThatAnAddressIsUnreached checks that an attempt that this host could not make proves nothing.
func TestWhatProvesThatAnAddressIsUnreached(t *testing.T) {
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	defer ports.Close()
	for address, want := range map[string]string{
		"255.255.255.255:9":               "", // nothing connects to a broadcast address
		launch.Loopback(ports.Numbers[0]): "still answers",
		"127.0.0.1:99999":                 "whether 127.0.0.1:99999 answers is not known", // there is no such port
	} {
		proof, err := Unreached(address)
		if (proof == "") != (want != "") || (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", address, proof, err, want)
		}
	}
}
