package behaviour

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

const (
	// requestsVariable names the variable with which scripts/airline-instructions.sh sets the number of
	// requests.
	requestsVariable = "CLEAVE_INSTRUCTIONS"
	// emulated is the time limit for the start and the end of a unit under the emulator.
	emulated = 10 * time.Minute
)

// TestInstructions counts the instructions of a request on hosts without hardware counters: all units run in
// an emulator that counts them (Valgrind's lackey), and the count of a load of some requests is subtracted
// from that of a load of more. The difference is the path length of the requests in between, including what
// the runtime does meanwhile: it compiles, and collects garbage.
func TestInstructions(t *testing.T) {
	requests, err := strconv.Atoi(os.Getenv(requestsVariable))
	if err != nil || requests < 1 {
		t.Skip("instructions are counted by scripts/airline-instructions.sh")
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip("there is no valgrind here: apt-get install valgrind")
	}
	eachRuntime(t, func(t *testing.T, r runtime) {
		for name, units := range architectures() {
			t.Run(name, func(t *testing.T) {
				first := count(t, r, units, requests)
				both := count(t, r, units, 2*requests)
				t.Logf("%s %s: %.0f instructions of all units per request (%d requests: %.4g, %d: %.4g)",
					r.name, name, (both-first)/float64(requests), requests, first, 2*requests, both)
				if both <= first {
					t.Error("more requests took no more instructions")
				}
			})
		}
	})
}

// count plays a number of requests and returns the instructions of all units, from start to end.
func count(t *testing.T, r runtime, units []string, requests int) (instructions float64) {
	counts := t.TempDir()
	r.args = append([]string{"--tool=lackey", "--basic-counts=yes", "--trace-children=yes",
		"--smc-check=all-non-file",
		"--log-file=" + filepath.Join(counts, "%p"), r.program}, r.args...)
	r.program = "valgrind"
	r.patience = emulated
	t.Run(fmt.Sprint(requests), func(t *testing.T) { // all units end with it
		a := startProcesses(t, r, units, data())
		s := newSession(t, a, 0)
		for i := range requests {
			path := []string{"/flights?from=AMS&to=ATH&date=2026-02-27", "/customers/" + s.login + "/bookings"}[i%2]
			if got := s.ask(http.MethodGet, path, ""); got.status != http.StatusOK {
				t.Fatalf("%s: %s", path, got)
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(counts, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the emulator has counted nothing: %v", err)
	}
	counted := regexp.MustCompile(`guest instrs:\s+([0-9,]+)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		testset.Must(t, err)
		found := counted.FindSubmatch(text)
		if found == nil {
			t.Errorf("the emulator did not end well: %s", bytes.TrimSpace(text))
			continue
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(string(found[1]), ",", ""), 64)
		testset.Must(t, err)
		instructions += n
	}
	return instructions
}
