package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestNumbersOfBodiesKeepTheirDigits reads a body as YAML, writes and reads it again, and sends it.
func TestNumbersOfBodiesKeepTheirDigits(t *testing.T) {
	const numbers = `[1,9007199254740993,18446744073709551617,1.10,0.12345678901234567891,1e2]`
	text := []byte("schema: " + Schema + "\nname: digits\n" +
		"flows: [{name: a, steps: [{request: PUT /, json: " + numbers + "}]}]")
	for range 2 {
		file, err := Parse("x.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		_, session := beginFlow(t, file)
		if got := string(session.HTTP1()); !strings.HasSuffix(got, numbers) {
			t.Errorf("sent %q, want the body %s", got, numbers)
		}
		packed, err := json.Marshal(file)
		testset.Must(t, err)
		file = new(File)
		testset.Must(t, json.Unmarshal(packed, file))
		if text, err = yaml.Marshal(file); err != nil {
			t.Fatal(err)
		}
	}
}
