package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// canaries returns a secret for each kind of input, and whether it may appear in command lines: only if the
// user has typed it into one.
func canaries() map[string]bool {
	return map[string]bool{
		"canary-env-literal": false, "canary-env-file": false, "canary-env-reference": false,
		"canary-url-password":    false,
		"canary-scenario-header": false, "canary-step-cookie": false, "canary-json-member": false,
		"canary-header-reference": false, "canary-target-url": false, "canary-choice-url": false,
		"canary-request-url": false, "canary-expected-url": false,
		"canary-argument-pair": true, "canary-argument-assigned": true, "canary-typed-header": true,
	}
}

// canarySystem is a system file with secrets in all places. The server prints its arguments and variables and
// then fails, so that cleave quotes its output. The quotes within words of reset keep the secrets out of its
// command line.
const canarySystem = `schema: cleave-system/1
name: %s
command: [server, -port, "{port}", -token, canary-argument-pair, --password=canary-argument-assigned, -tell,
        -die-after, 700ms]
reset: [sh, -c,
	"test $API_TOKEN = canary''-env-literal && test $FROM_FILE = canary''-env-file && test $REFERRED = canary''-env-reference"]
env:
  API_TOKEN: canary-env-literal
  DATABASE: postgres://me:canary-url-password@127.0.0.1/db
  REFERRED: ${CANARY_REFERENCE}
env_file: secrets.env
`

const canaryScenario = `schema: cleave-scenario/1
name: canaries
target: http://me:canary-target-url@127.0.0.1/
headers: {Authorization: Bearer canary-scenario-header, X-Other: "${env:CANARY_HEADER}", X-Back: "${back}"}
values: {back: {choice: ["http://me:canary-choice-url@127.0.0.1/"]}}
flows:
  - name: only
    steps:
      - request: POST /?from=http://me:canary-request-url@127.0.0.1/
        headers: {Cookie: session=canary-step-cookie}
        json: {user: me, password: canary-json-member}
      - request: GET /
        expect: {body: ["http://me:canary-expected-url@127.0.0.1/"]}
`

// expectNoCanary checks that a text contains no secret, neither as it is nor in base64. Basic authentication
// of "me:SECRET" is found, too: "me:" has three bytes, so base64 encodes the secret by itself. In command
// lines, the secrets that the user has typed into one are allowed.
func expectNoCanary(t *testing.T, where string, text []byte, commandLine bool) {
	t.Helper()
	for canary, mayBeTyped := range canaries() {
		if commandLine && mayBeTyped {
			continue
		}
		if bytes.Contains(text, []byte(canary)) || bytes.Contains(text,
			[]byte(base64.StdEncoding.EncodeToString([]byte(canary)))) {
			t.Errorf("%s holds %s:\n%.2000s", where, canary, text)
		}
	}
}

// watchCommandLines collects the command lines of a process and its descendants. The returned function stops
// that, and returns the command lines.
func watchCommandLines(t *testing.T, root int) func() map[string]bool {
	seen := map[string]bool{}
	stopped := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			for _, pid := range append(descendants(t, root), root) {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
				seen[strings.ReplaceAll(string(line), "\x00", " ")] = true
			}
			select {
			case <-stopped:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() map[string]bool { close(stopped); watching.Wait(); return seen }
}

// runWatched runs cleave to its end. It checks that no secret is in its output, nor in the process list,
// which it reads every 20 ms. seen is a text that must be in a command line of the list, to prove that they
// are read; empty: none, because cleave may end before the first reading.
func runWatched(
	t *testing.T, dir, seen string, environment []string, args ...string,
) (code int, errOut string) {
	t.Helper()
	command := program(dir, args...)
	command.Env = environment
	var out, said bytes.Buffer
	command.Stdout = &out
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	commandLines := watchCommandLines(t, command.Process.Pid)
	_ = command.Wait() // the exit code is checked
	lines := slices.Sorted(maps.Keys(commandLines()))
	for _, line := range lines {
		expectNoCanary(t, "a command line", []byte(line), true)
	}
	if !strings.Contains(strings.Join(lines, "\n"), seen) {
		t.Errorf("no command line holds %q: %q", seen, lines)
	}
	expectNoCanary(t, "standard output of cleave "+args[0], out.Bytes(), false)
	expectNoCanary(t, "standard error of cleave "+args[0], said.Bytes(), false)
	return command.ProcessState.ExitCode(), said.String()
}

// TestNoSecretIsPublished passes secrets to cleave in every input, and searches for them
// in every output. Then it plays the result folder again, first without the secrets and
// then with them.
func TestNoSecretIsPublished(t *testing.T) {
	t.Parallel() // it mostly waits
	dir := t.TempDir()
	servers := serverFolder(t)
	writeFiles(t, dir, map[string]string{
		"a.yaml": fmt.Sprintf(canarySystem, "a"), "b.yaml": fmt.Sprintf(canarySystem, "b"),
		"scenario.yaml": canaryScenario, "secrets.env": "# comment\nFROM_FILE=canary-env-file\n",
	})
	unset := append(os.Environ(), "PATH="+servers+string(os.PathListSeparator)+os.Getenv("PATH"))
	set := append(slices.Clone(unset), "CANARY_REFERENCE=canary-env-reference",
		"CANARY_HEADER=canary-header-reference")
	_, errOut := runWatched(t, dir, "canary-argument-pair", set, "compare", "a.yaml", "b.yaml",
		"--scenario", "scenario.yaml", "--rate", "20", "--blocks", "1",
		"-d", "2s", "--warm-up", "0s", "--no-gates", "--cores", "none", "--json", "out.json", "--full")
	expectTexts(t, "standard error", errOut, "warning: system a: the value of API_TOKEN",
		"CLEAVE_MASKED_API_TOKEN", "the value of Authorization", "the value of password", "exit status 3",
		"told: ***")
	if n := strings.Count(errOut, "the value of Authorization"); n != 1 {
		t.Errorf("it warns %d times of one value", n)
	}
	expectCleanFolder(t, dir)

	latest := filepath.Join(dir, "results", "compare", "latest")
	code, errOut := runWatched(t, dir, "", unset, "run", latest)
	if code != exitBadPlan {
		t.Errorf("without the values it ends with %d, want %d", code, exitBadPlan)
	}
	expectTexts(t, "standard error without the values", errOut, "CANARY_REFERENCE is not set",
		"masked when the plan was made: give it in the environment variable CLEAVE_MASKED_API_TOKEN")
	unmasked := append(slices.Clone(set), "CLEAVE_MASKED_API_TOKEN=canary-env-literal",
		"CLEAVE_MASKED_DATABASE_PASSWORD=canary-url-password",
		"CLEAVE_MASKED_TOKEN=canary-argument-pair", "CLEAVE_MASKED_PASSWORD=canary-argument-assigned",
		"CLEAVE_MASKED_PASSWORD_2=canary-json-member",
		"CLEAVE_MASKED_AUTHORIZATION=Bearer canary-scenario-header",
		"CLEAVE_MASKED_COOKIE=session=canary-step-cookie", "CLEAVE_MASKED_URL_PASSWORD=canary-target-url",
		"CLEAVE_MASKED_URL_PASSWORD_2=canary-choice-url", "CLEAVE_MASKED_URL_PASSWORD_3=canary-request-url",
		"CLEAVE_MASKED_URL_PASSWORD_4=canary-expected-url")
	_, errOut = runWatched(t, dir, "canary-argument-pair", unmasked, "run", latest, "--results", "again")
	if !strings.Contains(errOut, "told: ***") {
		t.Errorf("with the values the server was not started:\n%s", errOut)
	}
	expectCleanFolder(t, dir)
}

// expectCleanFolder checks that no file below a folder contains a secret, except for
// those that the test has written.
func expectCleanFolder(t *testing.T, dir string) {
	t.Helper()
	files := contents(t, dir)
	maps.DeleteFunc(files, func(path string, _ []byte) bool {
		return filepath.Dir(path) == "." && path != "out.json"
	})
	for path, text := range files {
		expectNoCanary(t, path, text, false)
	}
	if len(files) < 10 {
		t.Errorf("looked at %d files, want more", len(files))
	}
}

// TestTypedHeadersAreNotPublished: the value of a header on the command line, with or
// without a reference, is sent to the server and appears in no output.
func TestTypedHeadersAreNotPublished(t *testing.T) {
	dir := t.TempDir()
	environment := append(os.Environ(), "CANARY_HEADER=canary-header-reference")
	for name, what := range map[string][]string{
		"load": {"load", startWeb(t), "-r", "5", "-d", "1s", "--json", "load.json", "--lines",
			"lines.json"},
		"compare": {"compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--rate", "5", "-d", "1s",
			"--blocks", "1", "--warm-up", "0s", "--cores", "none", "--plan"},
	} {
		args := append(what, "-H", "Authorization: Bearer canary-typed-header", "-H", "X-Api-Key: ${CANARY_HEADER}")
		_, errOut := runWatched(t, dir, "", environment, args...)
		if !strings.Contains(errOut, "warning: ") || !strings.Contains(errOut, "Authorization") {
			t.Errorf("%s does not warn of the header:\n%s", name, errOut)
		}
		code, errOut := runWatched(t, dir, "", os.Environ(), args...)
		if code != exitBadPlan || !strings.Contains(errOut, "CANARY_HEADER is not set") {
			t.Errorf("%s without the variable ends with %d:\n%s", name, code, errOut)
		}
	}
	for _, file := range []string{"load.json", "lines.json"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		expectNoCanary(t, file, text, false)
	}
}
