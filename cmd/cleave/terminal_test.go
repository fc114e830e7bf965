package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile would clear a terminal, change the title of its window, and overwrite the previous line.
const hostile = "\x1b[2J\x1b]0;owned\x07\rfine\u009b1A\u202e"

// hostileFiles writes files with terminal escape sequences, and a program that prints some and fails. The
// returned function returns the path of a file.
func hostileFiles(t *testing.T, dir string) func(name string) string {
	t.Helper()
	const escaped = `"\e[2J\a\r"`
	for name, text := range map[string]string{
		"study.yaml": "schema: cleave-study/1\nname: " + escaped + "\n" + escaped + ": 1\ntitle: " + escaped +
			"\nsystem: " + escaped + "\n",
		"system.yaml": "schema: cleave-system/1\nname: " + escaped + "\nurl: " + escaped + "\n" + escaped +
			": 1\n",
		"scenario.yaml": "name: " + escaped + "\n" + escaped + ": 1\n",
		"raw.yaml":      hostile,
		"har.json":      `{"log":{"entries":[{"request":{"method":"\u001b[2J","url":"http://127.0.0.1/\u001b[2J"}}]}}`,
		"program.sh":    "#!/bin/sh\nprintf '\\033[2J\\r\\007last words\\n'\nexit 3\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// TestNobodySteersTheTerminal: control characters in arguments, files and answers are never
// printed. Long because it lists all inputs of such texts.
func TestNobodySteersTheTerminal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, hostile)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := hostileFiles(t, dir)
	script := file("program.sh")
	for name, arguments := range map[string][]string{
		"unknown command":   {hostile},
		"unknown flag":      {"load", "--" + hostile},
		"flag's value":      {"run", file("study.yaml"), "--blocks", hostile},
		"too many":          {"list", hostile},
		"study":             {"reproduce", hostile},
		"system to check":   {"check", hostile},
		"architecture":      {"check", "shop", "--architecture", hostile},
		"fault":             {"check", "shop", "--fault", "kill:" + hostile},
		"backing":           {"check", "shop", "--backing", hostile},
		"system to explain": {"explain", hostile},
		"knob":              {"explain", "shop", "--to", hostile},
		"run":               {"report", hostile},
		"file":              {"run", hostile + ".yaml"},
		"resume":            {"compare", "--resume", hostile},
		"progress":          {"run", file("study.yaml"), "--progress", hostile},
		"load's file":       {"load", hostile},
		"load's URL":        {"load", "http://127.0.0.1:1/" + hostile, "-r", "1"},
		"load's host":       {"load", "http://" + hostile + ":1/", "-r", "1"},
		"load's rate":       {"load", server.URL, "-r", hostile},
		"body file":         {"load", server.URL, "-r", "1", "--body", "@" + hostile},
		"objective":         {"load", server.URL, "-r", "1", "--objective", hostile},
		"answer": {"load", server.URL, "-r", "20", "-d", "200ms", "--expect-body", "hello", "--progress",
			"plain"},
		"what is expected": {"load", server.URL, "-r", "20", "-d", "200ms", "--expect-body", hostile, "--progress",
			"terminal"},
		"import":         {"load", "import", hostile},
		"HAR":            {"load", "import", file("har.json")},
		"starter":        {"init", hostile},
		"starter's path": {"init", "system", filepath.Join(dir, hostile, "x.yaml")},
		"compared":       {"compare", hostile + "=http://127.0.0.1:1", hostile, "--rate", "1"},
		"study file":     {"run", file("study.yaml")},
		"system file":    {"compare", file("system.yaml"), file("system.yaml"), "--rate", "1"},
		"scenario file":  {"load", file("scenario.yaml")},
		"no YAML":        {"run", file("raw.yaml")},
		"program's words": {"compare", "a=" + script + " {port}", "b=" + script + " {port}", "--rate", "1",
			"--blocks", "1", "-d", "1s", "--warm-up", "0s", "--cores", "none", "--results", dir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text := finish(t, program(t.TempDir(), arguments...))
			if name == "what is expected" { // the live view itself clears its line and moves up by its height
				text = strings.NewReplacer("\r\x1b[2K", "", "\x1b[5A", "").Replace(text)
			}
			if i := strings.IndexAny(text, "\x00\x07\b\r\x1b\x7f\u009b\u202e"); i >= 0 || text == "" {
				t.Errorf("a terminal would obey at byte %d of %q", i, text)
			}
		})
	}
}
