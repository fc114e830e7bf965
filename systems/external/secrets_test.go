package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// composeFile has secrets in a map, in a list, in commands, in a URL, in a number, in an escaped text, in a
// header, behind an alias, and beside variables. Values with harmless names and variables must stay.
const composeFile = `x-shared: &shared hidden-eight
services:
  db:
    image: db # kept
    command: [serve, --token, hidden-five, --auth, --verbose, -c, plain]
    environment:
      POSTGRES_PASSWORD: hidden-one
      ADMIN_PASSWORD: *shared
      PIN_TOKEN: 123456789
      DSN: postgres://me:hidden-two@db/x
      ESCAPED_DSN: postgres://me:hidden$$seven@db/$$x
      MODE: plain
      FROM_OUTSIDE_TOKEN: ${OUTSIDE}
      DSN_OF_PORT: postgres://me:hidden-11@db:${PORT}/x
      MIXED_TOKEN: "hidden-12${OUTSIDE}hidden-13\t\"$OUTSIDE"
      APP_PASSWORD: ${APP_PASSWORD:-hidden-14}
      DEFAULT_DSN: "${DSN:-mysql://me:${PW-hidden$$15}@db/}{}"
      GIVEN_TOKEN: ${GIVEN:?give it}
    secrets: [certificate]
  web:
    image: web
    volumes: ["secrets:/run/web", "auth:/data"]
    command: serve --password hidden-six --port 80
    healthcheck: {test: ping --password hidden-nine}
    entrypoint: [curl, "Authorization: Bearer hidden-ten", "Cookie: ${OUTSIDE}", "X-Key: Bearer ${OUTSIDE}"]
  shell:
    image: shell
    command: [sh, -c, "exec env TOKEN=hidden-16${OUTSIDE} ./s --password hidden-17 --key $$KEY"]
    environment: ["API_KEY=hidden-three", "MODE=plain", "SALT_SECRET=hidden$$four"]
secrets:
  certificate: {file: ./certificate.txt}
`

func TestSecretsOfComposeFilesAreMaskedAndComeBack(t *testing.T) {
	v := secret.NewVault(func(string) (string, bool) { return "", false })
	d := Definition{Name: "it", ExternalSystem: lab.ExternalSystem{URL: "http://127.0.0.1:1/",
		Compose: &lab.Compose{Text: composeFile}}}
	testset.Must(t, d.Mask(v))
	text := d.Compose.Text
	if strings.Contains(text, "hidden") || strings.Contains(text, "123456789") {
		t.Errorf("secrets are left in\n%s", text)
	}
	for _, kept := range []string{"--verbose, -c, plain", "--port 80", "MODE: plain", "MODE=plain",
		"${OUTSIDE}", "@db/$$x", "certificate.txt", "# kept", "image: web", "@db:${PORT}/x",
		"Cookie: ${OUTSIDE}", "X-Key: Bearer ${OUTSIDE}", "${APP_PASSWORD:-${", "$OUTSIDE\"", "--key $$KEY",
		"${GIVEN:?give it}", `["secrets:/run/web", "auth:/data"]`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q has gone from\n%s", kept, text)
		}
	}
	l, err := laidOut(d, v)
	testset.Must(t, err)
	if got, want := parsedYAML(t, l.Units[0].Compose.Text), parsedYAML(t, composeFile); got != want {
		t.Errorf("compose gets\n%s\nwant\n%s", got, want)
	}
	var missing secret.MissingError
	if _, err := laidOut(d, secret.NewVault(os.LookupEnv)); !errors.As(err, &missing) {
		t.Errorf("with none of the values: %v", err)
	}
	harmless := "services: {web: {image: web,   environment: [A=b]}}\n"
	d.Compose = &lab.Compose{Text: harmless}
	if err := d.Mask(v); err != nil || d.Compose.Text != harmless {
		t.Errorf("a file without secrets becomes %q, %v", d.Compose.Text, err)
	}
	d.Compose.Text = harmless + "---\n" + composeFile
	if err := d.Mask(v); err != nil || strings.Contains(d.Compose.Text, "hidden") ||
		strings.Count(d.Compose.Text, "services:") != 2 {
		t.Errorf("of several documents this is left, %v:\n%s", err, d.Compose.Text)
	}
}

// parsedYAML returns the values in a YAML text. A number and its digits in quotes are the same.
func parsedYAML(t *testing.T, text string) string {
	t.Helper()
	var read map[string]any
	testset.Must(t, yaml.Unmarshal([]byte(text), &read))
	return fmt.Sprint(read)
}

// TestEscapedSecretsAreMaskedAndComeBack: $${ is ${ in the values of env and of a compose file.
func TestEscapedSecretsAreMaskedAndComeBack(t *testing.T) {
	d, err := ofCompose(t, `
services: {web: {image: web, ports: ["80"], environment: {DSN: "pg://me:from-the-file$${x@h/"}}}`, "")
	testset.Must(t, err)
	units, _ := layoutOf(t, d) // the plan has no password
	if want := []string{"DSN=pg://me:from-the-file${x@h/"}; !slices.Equal(units["web"].Container.Env, want) {
		t.Errorf("web has %q, want %q", units["web"].Container.Env, want)
	}
	v := secret.NewVault(os.LookupEnv)
	d = Definition{Name: "it", ExternalSystem: lab.ExternalSystem{Env: map[string]string{
		"A_TOKEN": "hidden$${a", "DSN": "pg://me:hidden$${b@h/$${c}", "OPTIONS": "-Dpassword=hidden$${d",
		"TOKEN": "$hidden", "URL": "pg://me:$hidden@h/", "PORT_KEY": "{port}"}}}
	testset.Must(t, d.Mask(v))
	if text := fmt.Sprint(d.Env); strings.Contains(text, "hidden") {
		t.Errorf("the plan has a secret: %s", text)
	}
	got, err := System{Secrets: v}.environment(&d.ExternalSystem)
	want := []string{"A_TOKEN=hidden${a", "DSN=pg://me:hidden${b@h/${c}", "OPTIONS=-Dpassword=hidden${d",
		"PORT_KEY={port}", "TOKEN=$hidden", "URL=pg://me:$hidden@h/"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the environment is %q, %v; want %q", got, err, want)
	}
}

// laidOut returns the layout of a system whose secrets are in a vault.
func laidOut(d Definition, v *secret.Vault) (lab.Layout, error) {
	return System{Generator: &loadedtest.Generator{}, Secrets: v}.Layout(
		lab.Variant{Name: d.Name, External: &d.ExternalSystem}, at(lab.FactorRate, 1), 1)
}

func TestCommandsAreMaskedAndComeBack(t *testing.T) {
	for text, want := range map[string][]string{
		"./s --token abcdef --port {port}": {"./s", "--token", "${CLEAVE_MASKED_TOKEN}", "--port",
			"{port}"},
		"./s --token --verbose {port}":      {"./s", "--token", "--verbose", "{port}"},
		"./s --token 'p$ss{w}rd' {port}":    {"./s", "--token", "${CLEAVE_MASKED_TOKEN}", "{port}"},
		"sh -c 'API_KEY=$KEY ./s {port}'":   {"sh", "-c", "API_KEY=$KEY ./s {port}"},
		"sh -c './s --token abcdef {port}'": {"sh", "-c", "./s --token ${CLEAVE_MASKED_TOKEN} {port}"},
		"./s -password=abcdef {port}":       {"./s", "-password=${CLEAVE_MASKED_PASSWORD}", "{port}"},
		"sh -c 'API_KEY=abcdef; exec ./s {port}'": {"sh", "-c",
			"API_KEY=${CLEAVE_MASKED_API_KEY}; exec ./s {port}"},
		"./s 'X-Key:Bearer abc' {port}": {"./s", "X-Key:${CLEAVE_MASKED_X_KEY}", "{port}"},
		"./s 'Authorization: Bearer abc' {port}": {"./s", "Authorization: ${CLEAVE_MASKED_AUTHORIZATION}",
			"{port}"},
		"sh -c 'TOKEN=abc${X} ./s {port}'":   {"sh", "-c", "TOKEN=${CLEAVE_MASKED_TOKEN} ./s {port}"},
		"sh -c 'TOKEN=${X:-abc} ./s {port}'": {"sh", "-c", "TOKEN=${CLEAVE_MASKED_TOKEN} ./s {port}"},
		"./s 'Authorization: Bearer ${X}' --key '$X${a.b}' {port}": {"./s", "Authorization: Bearer ${X}",
			"--key", "$X${a.b}", "{port}"},
		"./s http://me:$PW${a.b}@h/ http://me:${PW:?none}@h/ {port}": {"./s", "http://me:$PW${a.b}@h/",
			"http://me:${PW:?none}@h/", "{port}"},
		"./s http://me:begin${PW}@h/ {port}": {"./s", "http://me:${CLEAVE_MASKED_COMMAND_PASSWORD}@h/", "{port}"},
		"./s 'http://me:a$${b@h/' {port}":    {"./s", "http://me:${CLEAVE_MASKED_COMMAND_PASSWORD}@h/", "{port}"},
		"./s --dsn=redis://:abcdef@h:1/0 ${X} {port}": {"./s",
			"--dsn=redis://:${CLEAVE_MASKED_COMMAND_PASSWORD}@h:1/0", "${X}", "{port}"},
	} {
		words, err := shell.Split(text)
		testset.Must(t, err)
		v := secret.NewVault(func(string) (string, bool) { return "", false })
		d := Definition{Name: "it", ExternalSystem: lab.ExternalSystem{URL: "http://127.0.0.1:{port}/",
			Command: words}}
		if err := d.Mask(v); err != nil || !slices.Equal(d.Command, want) {
			t.Errorf("%s becomes %q, %v", text, d.Command, err)
		}
		l, err := laidOut(d, v)
		if err != nil || !slices.Equal(append([]string{l.Units[0].Program}, l.Units[0].Args...), words) {
			t.Errorf("%s is started as %+v, %v", text, l.Units, err)
		}
		var missing secret.MissingError
		_, err = laidOut(d, secret.NewVault(os.LookupEnv))
		if masked := len(secret.MaskedIn(strings.Join(want, " "))) > 0; masked != errors.As(err, &missing) {
			t.Errorf("%s elsewhere: %v", text, err)
		}
	}
}

func TestEnvironmentFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testset.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	values := write("values.env", "# comment\n\nA=one=1\nB=\" two \"\r\nC=three\n")
	const text = "schema: cleave-system/1\nname: it\nurl: http://127.0.0.1:1/\ncommand: ./s\nenv_file: " +
		"values.env\nenv: {C: own, D: 'x${A}', E: '$${A}'}\n"
	d, err := Parse(write("system.yaml", text), []byte(text))
	testset.Must(t, err)
	if d.EnvFile != values || d.Env["A"] != "${A}" || d.Env["B"] != "${B}" || d.Env["C"] != "own" {
		t.Errorf("the definition is %+v", d)
	}
	environment := map[string]string{}
	system := System{Secrets: secret.NewVault(func(name string) (string,
		bool) {
		value, set := environment[name]
		return value, set
	})}
	got, err := system.environment(&d.ExternalSystem)
	if want := []string{"A=one=1", `B=" two "`, "C=own", "D=xone=1", "E=${A}"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("environment %q, %v; want %q", got, err, want)
	}
	testset.Must(t, os.Remove(values))
	var missing secret.MissingError
	if _, err := system.environment(&d.ExternalSystem); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "env B: the environment variable B is not set") {
		t.Errorf("without the file: %v", err)
	}
	environment["A"] = "1"
	environment["B"] = "2"
	if got, err := system.environment(&d.ExternalSystem); err != nil || got[0] != "A=1" {
		t.Errorf("with the environment instead of the file: %q, %v", got, err)
	}
	for _, bad := range []string{"hidden-value\n", "A B=hidden-value\n", "=hidden-value"} {
		write("values.env", bad)
		_, err := Parse(filepath.Join(dir, "system.yaml"), []byte(text))
		if err == nil || !strings.Contains(err.Error(), "values.env:1") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
