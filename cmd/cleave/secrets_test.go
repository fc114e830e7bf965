package main

import (
	"testing"

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
