package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestKeysAndRecordsOfPeopleAreReadNowhere plays every architecture, and kills every unit
// during the load. It checks that neither the output, nor the result folder, nor the
// process list has keys or plain text.
func TestKeysAndRecordsOfPeopleAreReadNowhere(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	dir := t.TempDir()
	command := program(dir, "check", "people", "--operations", "600", "--fault", "kill:every-unit", "--json",
		"out.json")
	var shown bytes.Buffer
	command.Stdout = &shown
	command.Stderr = &shown
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := watchCommandLines(t, command.Process.Pid)
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown.Bytes())
	}
	text, err := os.ReadFile(filepath.Join(dir, "results", "check", "latest", "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan lab.Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	// The records have fields such as "street" and 16 characters.
	secrets := []*regexp.Regexp{regexp.MustCompile(`(firstName|street|userName) [A-Za-z0-9]{16}`)}
	for _, trial := range plan.Trials { // people derives the key of a trial from its seed in the same way
		key := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("key of the records of a trial of people "),
			trial.Seed))
		secrets = append(secrets, regexp.MustCompile(hex.EncodeToString(key[:16])))
	}
	expectNone := func(where string, text []byte) {
		for _, secret := range secrets {
			if found := secret.Find(text); found != nil {
				t.Errorf("%s holds %s", where, found)
			}
		}
	}
	expectNone("what is shown", shown.Bytes())
	for line := range lines() {
		expectNone("a command line", []byte(line))
	}
	files := contents(t, dir)
	for path, text := range files {
		expectNone(path, text)
	}
	if len(files) < 3 {
		t.Errorf("looked at %d files, want more", len(files))
	}
}
