package secret

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestNamesOfSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"API_TOKEN": true, "api-key": true, "apiKey": true, "APIKEY": true, "DBPASSWORD": true,
		"Authorization": true, "X-Api-Key": true,
		"Cookie": true, "Set-Cookie": true, "Proxy-Authorization": true, "AWS_SECRET_ACCESS_KEY": true,
		"GOOGLE_CREDENTIALS": true,
		"DB_PASS2":           true, "AUTH_2": true, "2": false, "TOKEN_FILE2": false,
		"DB_PASS": true, "BASIC_AUTH": true, "token": true, "--token": true, "KEY": true,
		"PGPASSWORD": true, "DBPass": true, "X-JWTKey": true, "TOKENFile": false, "KEY[0]": true, "KEY:": true,
		"KEYs":   true,
		"AUTHOR": false, "MONKEY": false, "KEYBOARD": false, "PORT": false, "PATH": false,
		"SSL_KEY_FILE": false, "TOKEN_PATH": false,
		"COMPASS": false, "": false, "Accept": false, "passenger": false,
	} {
		if got := Named(name); got != want {
			t.Errorf("%q is a secret: %t, want %t", name, got, want)
		}
	}
}

// vault returns an empty vault with these environment variables.
func vault(environment map[string]string) *Vault {
	return NewVault(func(name string) (string, bool) { value, set := environment[name]; return value, set })
}

func TestMaskedValuesComeBack(t *testing.T) {
	v := vault(nil)
	first := v.Mask("a", "API_TOKEN", "one-secret")
	again := v.Mask("b", "API_TOKEN", "one-secret")
	other := v.Mask("b", "api-token", "another")
	if first != "CLEAVE_MASKED_API_TOKEN" || again != first || other != first+"_2" {
		t.Errorf("masked as %s, %s and %s", first, again, other)
	}
	if text, err := v.Fill("x ${"+first+"} ${"+other+"}", nil); err != nil || text != "x one-secret another" {
		t.Errorf("filled: %q, %v", text, err)
	}
	if text, err := v.FillMasked("${HOME} $${A} ${" + first + "}"); err != nil ||
		text != "${HOME} $${A} one-secret" {
		t.Errorf("filled: %q, %v", text, err)
	}
	if warnings := v.Warnings(); len(warnings) != 2 ||
		strings.Contains(strings.Join(warnings, ""), "one-secret") || len(v.Warnings()) != 0 {
		t.Errorf("warnings %q, want one per value, once, without it", warnings)
	}
	_, err := vault(nil).Fill("${"+first+"}", nil)
	if err == nil || !strings.Contains(err.Error(), "masked") || !strings.Contains(err.Error(), first) {
		t.Errorf("another vault has a value, or says %v", err)
	}
}

func TestReferences(t *testing.T) {
	v := vault(map[string]string{"A": "1", "B": "two${A}"})
	for text, want := range map[string]string{
		"": "", "${A}": "1", "x${A}-${C}": "x1-3", "${B}": "two${A}", "$${A}": "${A}",
		"$A {A} ${a b}": "$A {A} ${a b}",
	} {
		if got, err := v.Fill(text, map[string]string{"C": "3"}); err != nil || got != want {
			t.Errorf("%q becomes %q, %v; want %q", text, got, err, want)
		}
		if HasReference(text) != (strings.Contains(want, "1") || text == "${B}") {
			t.Errorf("%q has a reference: %t", text, HasReference(text))
		}
	}
	var missing MissingError
	if _, err := v.Fill("${NONE} ${A} ${NEITHER}", nil); !errors.As(err, &missing) ||
		!slices.Equal(missing, MissingError{"NONE", "NEITHER"}) {
		t.Errorf("missing: %v", err)
	}
}

func TestPasswordsInURLs(t *testing.T) {
	const masked = "${CLEAVE_MASKED_DSN_PASSWORD}"
	for text, pattern := range map[string]string{ // with PASSWORD for a password that is masked
		"postgres://me:hunter22@127.0.0.1/db":   "postgres://me:PASSWORD@127.0.0.1/db",
		"a http://:hunter22@h b":                "a http://:PASSWORD@h b",
		"http://me:hunter@22@h/":                "http://me:PASSWORD@h/",
		`{"a":"http://me:hunter@h","b":"c@d"}`:  `{"a":"http://me:PASSWORD@h","b":"c@d"}`,
		"http://me:$3cret-word@h/":              "http://me:PASSWORD@h/",
		"http://me:$PW@h/":                      "http://me:PASSWORD@h/",
		"http://me:${PW}@h/":                    "http://me:${PW}@h/",
		"http://me:begin${PW}@h/":               "http://me:begin${PW}@h/",
		"http://me:hunter$${22@h/":              "http://me:PASSWORD@h/",
		"http://127.0.0.1:8080/a@b http://h:1/": "http://127.0.0.1:8080/a@b http://h:1/",
	} {
		want := strings.ReplaceAll(pattern, "PASSWORD", masked)
		if got := vault(nil).MaskURLs("a", "DSN", text, Reference); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got, want := HidePasswords(text), strings.ReplaceAll(pattern, "PASSWORD", "***"); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestEscapedPasswordsComeBack: $${ is one character less in the value.
func TestEscapedPasswordsComeBack(t *testing.T) {
	v := vault(nil)
	filled, err := v.Fill(v.MaskURLs("a", "DSN", "http://me:a$${b@h/", Reference), nil)
	if err != nil || filled != "http://me:a${b@h/" {
		t.Errorf("a reference is filled in as %q, %v", filled, err)
	}
}

func TestVariablesOfShells(t *testing.T) {
	for text, want := range map[string]bool{
		"$PW": true, "${PW}": true, "$PW${a.b}": true, "${PW:?none}": true, "": false, "begin${PW}": false,
		"$PW-": false, "${PW:-hunter22}": false, "a$${b": false, "$3cret": false,
	} {
		if got := IsVariables(text); got != want {
			t.Errorf("%q is nothing but variables: %t, want %t", text, got, want)
		}
	}
}

func TestConcealing(t *testing.T) {
	v := vault(map[string]string{"SHORT": "ab", "LONG": "hunter22-and-more", "PART": "hunter22"})
	text := "ab hunter22 and hunter22-and-more, abc.def.ghi"
	if got := v.Conceal(text); got != text {
		t.Errorf("an empty vault conceals: %q", got)
	}
	if _, err := v.Fill("${SHORT}${LONG}${PART}", nil); err != nil {
		t.Fatal(err)
	}
	v.Mask("a", "Authorization", "Bearer abc.def.ghi")
	if got, want := v.Conceal(text), "ab *** and ***, ***"; got != want {
		t.Errorf("%q becomes %q, want %q", text, got, want)
	}
}
