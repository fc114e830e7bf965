package external

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
)

// FuzzTextsOfComposeFilesComeBack checks that a variable of a compose file is as before once its masked
// values are filled in. A $ that begins no variable, which compose commands refuse, may have become $$.
func FuzzTextsOfComposeFilesComeBack(f *testing.F) {
	for _, value := range []string{"", "hidden", "a$$b", "$A${B}c", "${A:-x}", "${A-${B:+x}}}{", "${A:?a}b}",
		"$", "pg://me:${A:-x}y@h/", "A_TOKEN=x${B}", "Key: Bearer $A x", "--key x$A --key 'y'",
		"\x00a\n\"\\\u2028"} {
		f.Add("API_TOKEN", value)
		f.Add("MODE", value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.Contains(value, secret.Prefix) || !utf8.ValidString(name+value) {
			t.Skip("it refers to a masked value, or is no text")
		}
		text, err := yaml.Marshal(map[string]map[string]string{"services": {name: value}})
		testset.Must(t, err)
		var want, got map[string]map[string]string
		if yaml.Unmarshal(text, &want) != nil {
			t.Skip("it is no YAML")
		}
		s := System{Secrets: secret.NewVault(func(string) (string, bool) { return "", false })}
		masked, err := masker{Vault: s.Secrets, system: "it"}.compose(string(text))
		testset.Must(t, err)
		filled, err := s.fillCompose(&lab.Compose{Text: masked})
		testset.Must(t, err)
		testset.Must(t, yaml.Unmarshal([]byte(filled.Text), &got))
		value = want["services"][name]
		if back := got["services"][name]; back != value && back != unmarkVariables(markVariables(value)) {
			t.Errorf("%q of %q is masked as\n%s\nand comes back as %q", value, name, masked, back)
		}
	})
}
