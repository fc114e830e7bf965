package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/secret"
)

// TestHeadersOfTheCommandLine: ${NAME} is replaced by a variable, $${NAME} stands for the
// text ${NAME}, and the value of a variable is sent without further replacements.
func TestHeadersOfTheCommandLine(t *testing.T) {
	environment := map[string]string{"A": "one", "ODD": "${B} $${C}"}
	vault := secret.NewVault(func(name string) (string, bool) {
		value, set := environment[name]
		return value, set
	})
	for typed, want := range map[string]string{
		"plain": "plain", "${A}": "one", "x ${A}${A}": "x oneone", "$${A}": "$${A}",
		"$A {A} ${a b}": "$A {A} $${a b}",
		"${ODD}":        "$${B} $$${C}",
	} {
		flags := loadFlags{headers: []string{"X-Some: " + typed}}
		file, err := flags.request("http://127.0.0.1:1/")
		if err == nil {
			file, err = fillScenario(vault, file)
		}
		if err != nil {
			t.Fatalf("%q: %v", typed, err)
		}
		if got := file.Flows[0].Steps[0].Headers["X-Some"]; got != want {
			t.Errorf("%q becomes the template %q, want %q", typed, got, want)
		}
	}
}

// TestPasswordsOfScenarios: the plan has a reference in the place of each, also of one with the plain text
// ${, and the load has the password again. What refers to values, or only looks like a reference to the
// environment, stays.
func TestPasswordsOfScenarios(t *testing.T) {
	const url = "http://me:pass-word@h/"
	file := scenario.File{Name: "s", Target: url, Headers: map[string]string{"X-Back": url,
		"X-Token": "pass-word$${"},
		Values: map[string]scenario.Value{"back": {Choice: []string{"a", url, "${env:HOME}"}}, "id": {}},
		Flows: []scenario.Flow{{Name: "f", Steps: []scenario.Step{{Name: "at " + url,
			Request: "GET /?from=" + url, Body: url, JSON: map[string]any{"back": url},
			Expect: scenario.Expect{Body: []string{url, "re:^a$"}, JSON: map[string]string{"back": url},
				Header: map[string]string{"Location": "http://me:${id}@h/"}}}}}}}
	before, err := json.Marshal(file)
	testset.Must(t, err)
	unset := func(string) (string, bool) { return "", false }
	vault := secret.NewVault(unset)
	masked := maskScenario(vault, file)
	text, err := json.Marshal(masked)
	testset.Must(t, err)
	if strings.Contains(string(text), "pass-word") || !strings.Contains(string(text), "http://me:${id}@h/") {
		t.Errorf("the plan has %s", text)
	}
	filled, err := fillScenario(vault, masked)
	if err != nil || !reflect.DeepEqual(filled, file) {
		t.Errorf("the load is %+v, %v; want %+v", filled, err, file)
	}
	if after, err := json.Marshal(file); err != nil || string(after) != string(before) {
		t.Errorf("the scenario itself has changed: %s, %v", after, err)
	}
	if _, err := fillScenario(secret.NewVault(unset), masked); err == nil ||
		!strings.Contains(err.Error(), "a URL of the scenario: a value was masked when the plan was made") {
		t.Errorf("without the password: %v", err)
	}
}
