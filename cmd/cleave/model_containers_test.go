package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
)

// TestAModelOfContainers makes a model of three services that record spans with OpenTelemetry's SDK. It has
// all calls with metered CPU time, and components within services, which an attribute names. The same model
// can be made again from the result folder.
func TestAModelOfContainers(t *testing.T) {
	t.Parallel()
	dockertest.Once(t, tracedImage, buildTraced)
	dir := t.TempDir()
	file := "name: traced" + strings.Replace(tracedFile, "WORK", "2ms", 1)
	writeFiles(t, dir, map[string]string{"traced.yaml": file})
	model := func(args ...string) string {
		code, printed := finish(t, program(dir, append([]string{"model"}, args...)...))
		if code != exitFine {
			t.Fatalf("cleave model %s: exit code %d\n%s", strings.Join(args, " "), code, printed)
		}
		return printed
	}
	shown := model("traced.yaml", "--url", "http://front:80/", "--rate", "20", "--duration", "2s",
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
	model("results/model/latest", "--out", "again.yaml")
	files := contents(t, dir)
	if made, again := files["made.yaml"], files["again.yaml"]; len(made) == 0 || !bytes.Equal(made, again) {
		t.Errorf("the result folder makes another model:\n%s\nwant\n%s", again, made)
	}
	expectNoContainers(t)
}
