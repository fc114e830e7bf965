package deploytest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// harm does a fault, which must succeed and prove its effect.
func harm(t *testing.T, d lab.Harmer, unit string, kind lab.FaultKind) {
	t.Helper()
	proof, err := d.Harm(Within(t), lab.Fault{Target: unit, Kind: kind})
	if err != nil {
		t.Fatalf("%s %s: %v", kind, unit, err)
	}
	if proof == "" {
		t.Errorf("%s of %s: nothing proves that it took effect", kind, unit)
	}
}

// heal undoes a fault.
func heal(t *testing.T, d lab.Harmer, unit string, kind lab.FaultKind) {
	t.Helper()
	if err := d.Heal(Within(t), lab.Fault{Target: unit, Kind: kind}); err != nil {
		t.Fatalf("heal %s after %s: %v", unit, kind, err)
	}
}

// refuses expects that a fault cannot be done, and that the error has these words.
func refuses(t *testing.T, d lab.Harmer, fault lab.Fault, words ...string) {
	t.Helper()
	proof, err := d.Harm(Within(t), fault)
	if err == nil {
		t.Errorf("%s of %s was done: %s", fault.Kind, fault.Target, proof)
	}
	Says(t, err, words...)
}

// silence is the time to wait for a unit that must not answer, soon the time for one that must.
const silence, soon = 300 * time.Millisecond, 20 * time.Second

// slowBy is the delay of units and links that are slowed. Whatever is not slowed answers within promptly, on
// a busy host in one of several attempts.
const slowBy, promptly, attempts = 2 * time.Second, 500 * time.Millisecond, 8

// soonest returns the shortest time that took returns for a unit. It stops at the first one within promptly.
func soonest(took func(unit string) time.Duration, unit string) time.Duration {
	least := took(unit)
	for n := 1; n < attempts && least >= promptly; n++ {
		least = min(least, took(unit))
	}
	return least
}

// answerAt returns the answer of a unit; "" if none comes in time. A paused unit, for one, may accept
// connections without an answer.
func answerAt(endpoint lab.Endpoint, wait time.Duration) string {
	text, _ := readAnswer(endpoint.Dial, wait) // callers compare the text
	return text
}

// readAnswer returns all that a unit sends until it closes the connection, for at most the time to wait.
// With an error it returns what has come by then.
func readAnswer(address string, wait time.Duration) (string, error) {
	connection, err := net.DialTimeout("tcp", address, wait)
	if err != nil {
		return "", err
	}
	var text []byte
	if err = connection.SetReadDeadline(time.Now().Add(wait)); err == nil {
		text, err = io.ReadAll(connection)
	}
	return string(text), errors.Join(err, connection.Close())
}

// expect expects that an answer comes in time; want is "" if none must come. who names the unit in the
// failure.
func expect(t *testing.T, at lab.Endpoint, wait time.Duration, want, who string) {
	t.Helper()
	if text := answerAt(at, wait); text != want {
		t.Errorf("%s says %q, want %q", who, text, want)
	}
}

// cutOff checks the fault cut, or that a deployer without it refuses it.
func cutOff(t *testing.T, s *suite) {
	if !slices.Contains(s.Can().Faults, lab.FaultCut) {
		refuses(t, s.deploy(t, Layout("front")), lab.Fault{Target: "front", Kind: lab.FaultCut})
		return
	}
	withFault(t, s, lab.FaultCut, "stock")
}

// slowed checks that requests to a slowed unit arrive later, and those to others as before.
func slowed(t *testing.T, s *suite) {
	if !slices.Contains(s.Can().Faults, lab.FaultSlow) {
		t.Skip("nothing can be slowed in this deployment")
	}
	l := Layout("front", "stock").PreparedFor([]lab.Fault{{Target: "stock", Kind: lab.FaultSlow}})
	d := s.play(t, l)
	took := func(unit string) time.Duration {
		began := time.Now()
		if text := ask(t, d, unit); text != unit+":1" {
			t.Errorf("%s says %q", unit, text)
		}
		return time.Since(began)
	}
	fault := lab.Fault{Target: "stock", Kind: lab.FaultSlow, Delay: slowBy.Seconds()}
	proof, err := d.Harm(Within(t), fault)
	if err != nil || proof == "" {
		t.Fatalf("slow stock: %q, %v", proof, err)
	}
	if stock := took("stock"); stock < slowBy {
		t.Errorf("stock answers after %v, want %v or more", stock, slowBy)
	}
	if front := soonest(took, "front"); front >= promptly {
		t.Errorf("front, which is not slowed, answers after %v", front)
	}
	testset.Must(t, d.Heal(Within(t), fault))
	if stock := soonest(took, "stock"); stock >= promptly {
		t.Errorf("healed, stock answers after %v", stock)
	}
	harm(t, d, "stock", lab.FaultKill)
	heal(t, d, "stock", lab.FaultKill)
	answers(t, d, "stock", "stock:2")
	refuses(t, d, lab.Fault{Target: "front", Kind: lab.FaultSlow, Delay: 1}) // not announced by PreparedFor
}

// filled checks that a unit whose volume is full cannot write until it is healed, and keeps the files that it
// wrote before.
func filled(t *testing.T, s *suite) {
	if !slices.Contains(s.Can().Faults, lab.FaultFill) {
		t.Skip("nothing can be filled in this deployment")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a volume: run the tests as root")
	}
	l := Layout("front", "stock").PreparedFor([]lab.Fault{{Target: "stock", Kind: lab.FaultFill}})
	d := s.play(t, l)
	answers(t, d, "stock", "stock:1")
	harm(t, d, "stock", lab.FaultFill)
	answers(t, d, "stock", "stock:1, no space left on device")
	answers(t, d, "front", "front:1")
	heal(t, d, "stock", lab.FaultFill)
	answers(t, d, "stock", "stock:1")
	harm(t, d, "stock", lab.FaultKill)
	heal(t, d, "stock", lab.FaultKill)
	answers(t, d, "stock", "stock:2")
	refuses(t, d, lab.Fault{Target: "front", Kind: lab.FaultFill}) // it has no file system of its own
}

// withFault checks that a unit does not answer while it has a fault, that it goes on in the same life when
// it is healed, and that the trial does not fail.
func withFault(t *testing.T, s *suite, kind lab.FaultKind, unit string) {
	t.Helper()
	answer := unit + ":1"
	l, life := s.storeLayout(t, func(life int) int { return life })
	if unit == "store" {
		answer = fmt.Sprintf("store:%d", life)
	}
	l.Units = append(l.Units, Layout("stock").Units[1])
	d := s.play(t, l.PreparedFor([]lab.Fault{{Target: unit, Kind: kind}}))
	endpoint := endpointOf(t, d, unit)
	awaitAnswer(t, d, unit, endpoint, answer) // play waits for the lead alone
	harm(t, d, unit, kind)
	expect(t, endpoint, silence, "", unit+" after "+string(kind))
	expect(t, endpointOf(t, d, "front"), soon, "front:1", "front after "+string(kind)+" of another")
	heal(t, d, unit, kind)
	expect(t, endpoint, soon, answer, unit+", healed,")
	goesOn(t, d)
}

// leadIsNotHarmed checks that faults of the lead, and of a unit that does not exist, are refused.
func leadIsNotHarmed(t *testing.T, s *suite) {
	d := s.deploy(t, Layout("front"))
	for _, kind := range s.Can().Faults {
		refuses(t, d, lab.Fault{Target: "lead", Kind: kind}, "leads the trial")
		refuses(t, d, lab.Fault{Target: "nobody", Kind: kind}, `"nobody"`)
	}
}
