package shell

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"  nginx  -g 'daemon off;' ":  {"nginx", "-g", "daemon off;"},
		`a "b \"c\"" d\ e ''`:         {"a", `b "c"`, "d e", ""},
		"cat caf\xe9":                 {"cat", "caf\xe9"},
		"sh -c $HOME `x` ; | & *.txt": {"sh", "-c", "$HOME", "`x`", ";", "|", "&", "*.txt"},
	} {
		if got, err := Split(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`"a`, `a\`, "a\x00b", "'a\x00b'"} {
		if _, err := Split(text); err == nil {
			t.Errorf("Split(%q) passes", text)
		}
	}
}

// TestQuotedCommandsAreSafeToPaste: a shell reads back what was quoted. sh does not know the notation for
// characters that a terminal does not show, and then takes it as a text.
func TestQuotedCommandsAreSafeToPaste(t *testing.T) {
	t.Chdir(t.TempDir())
	shown := []string{"", "a b", "$HOME", "${HOME}", "$(touch made)", "`touch made`", "a;touch made",
		"a&touch made", "a|touch made", "a>made", "<made", "(a)", "*", "?", "[a]", "!!", "#a", "~", "a~", "{a,b}",
		"{port}", `a\b`, `"`, "'", "it's", "'; touch made; '", "http://127.0.0.1/?a=1&b=2", "größe", "-x=1,2"}
	hidden := []string{"a\nb", "\t", "\x1b[2J'; touch made; '", "\xff", `\` + "\n", "\u00a0\u202e", "\U000e0001ü",
		"\n\"q\""}
	t.Setenv("LC_ALL", "C") // in which bash does not read \u
	for _, c := range []struct {
		shell string
		words []string
	}{{"sh", shown}, {"bash", slices.Concat(shown, hidden)}} {
		out, err := exec.Command(c.shell, "-c", `printf '%s\0' `+Quote(c.words...)).Output()
		if want := strings.Join(c.words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("%s reads %s as %q, %v; want %q", c.shell, Quote(c.words...), out, err, want)
		}
	}
	if err := exec.Command("sh", "-c", "printf '%s' "+Quote(hidden...)).Run(); err != nil {
		t.Error(err)
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Errorf("a word was run: %v, %v", made, err)
	}
	if got := Quote("cleave", "report", "results/a-1/latest", "{port}", "a b", "A=b", "=ls"); got !=
		"cleave report results/a-1/latest {port} 'a b' A=b '=ls'" { // zsh expands =ls
		t.Errorf("more or less is quoted than needed: %s", got)
	}
}
