package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
)

// TestAModelOfContainers is made of three services that record spans with OpenTelemetry's SDK: all calls are
// in it, their CPU time is metered, an attribute makes components within services, and the result folder
// makes the same model once more.
func TestAModelOfContainers(t *testing.T) {
	t.Parallel()
	dockertest.Once(t, tracedImage, buildTraced)
	dir := t.TempDir()
	file := "name: traced" + strings.Replace(tracedFile, "WORK", "2ms", 1)
	if err := os.WriteFile(filepath.Join(dir, "traced.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	told := func(args ...string) string {
		command := exec.CommandContext(t.Context(), filepath.Join(binaries, "cleave"), args...)
		command.Dir = dir
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("cleave %s: %v\n%s", strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	shown := told("model", "traced.yaml", "--url", "http://front:80/", "--rate", "20", "--duration", "2s",
		"--warm-up", "1s", "--blocks", "2", "--no-gates", "--component", "module", "--out", "made.yaml")
	for _, want := range []string{`unit front: front, inside\n`, `unit cart: cart, cart/inside\n`,
		`unit prices: prices, prices/inside\n`, `GET /: 100 % of all operations, .* \(n \d+\)`,
		`front GET / +1 +[0-9.]+ [um]s .* meter, trace, n \d+`, `\n +inside work +1 `,
		`\n +cart GET /cart +1 +[0-9.]+ [um]s .* CPU, .* meter, trace, n \d+`,
		`\n +prices GET /prices +1 +[0-9.]+ [um]s`, `as it is +20/s +.* 40\n`, `as it is +60/s +.* 120\n`,
	} {
		if !regexp.MustCompile(want).MatchString(shown) {
			t.Errorf("the model does not show %s:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "<=") {
		t.Errorf("CPU times are self times:\n%s", shown)
	}
	told("model", "results/model/latest", "--out", "again.yaml")
	made, err := os.ReadFile(filepath.Join(dir, "made.yaml"))
	again, errAgain := os.ReadFile(filepath.Join(dir, "again.yaml"))
	if err := errors.Join(err, errAgain); err != nil || string(made) != string(again) {
		t.Errorf("the result folder makes another model (%v):\n%s", err, again)
	}
	if left := containers(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
