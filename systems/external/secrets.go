package external

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
)

// Mask replaces all values that look like secrets with references, so that the definition can be written to
// files. Layout fills in the values again.
func (d *Definition) Mask(v *secret.Vault) error {
	m := masker{Vault: v, system: d.Name}
	if d.project != nil {
		m.secrets = d.project.secrets
	}
	ofEnv := m
	ofEnv.escaped = true
	d.Env = maps.Clone(d.Env)
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		d.Env[name] = ofEnv.value(name, d.Env[name])
	}
	d.Command = m.words(d.Command)
	d.Reset = m.words(d.Reset)
	d.Ready.Command = m.words(d.Ready.Command)
	if d.Audit != nil {
		audit := *d.Audit
		audit.Command = m.words(audit.Command)
		d.Audit = &audit
		audit.Requests = slices.Clone(audit.Requests)
		audit.Queries = slices.Clone(audit.Queries)
		for i := range audit.Requests {
			audit.Requests[i].Get = m.text("get", audit.Requests[i].Get)
		}
		for i := range audit.Queries {
			audit.Queries[i].SQL = m.text("sql", audit.Queries[i].SQL)
		}
	}
	d.Summary = m.text("summary", d.Summary)
	d.Services = slices.Clone(d.Services)
	for i := range d.Services {
		m.container(&d.Services[i].Container)
		d.Services[i].Install = m.text("build", d.Services[i].Install)
	}
	if d.Compose == nil {
		return nil
	}
	text, err := m.compose(d.Compose.Text)
	d.Compose = &lab.Compose{Text: text, Dir: d.Compose.Dir}
	return err
}

// masker masks the secrets of one system.
type masker struct {
	*secret.Vault
	system  string
	secrets []string // the values of the Secrets in its manifests
	escaped bool     // the texts are values of env: ${NAME} is a reference, and $${ stands for ${
}

// container masks the environment, the commands, the files and the health check of a container. The variables
// of the compose file are resolved by now, so a ${ that is left belongs to the value.
func (m masker) container(c *lab.ContainerSpec) {
	c.Env = slices.Clone(c.Env)
	for i, variable := range c.Env {
		name, value, _ := strings.Cut(variable, "=")
		c.Env[i] = name + "=" + m.variable(name, value)
	}
	c.Command = m.words(c.Command)
	c.Entrypoint = m.words(c.Entrypoint)
	c.Mounts = slices.Clone(c.Mounts)
	for i := range c.Mounts {
		files := maps.Clone(c.Mounts[i].Files)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if m.hasSecret(files[name]) {
				files[name] = m.masked(name, files[name])
			} else {
				files[name] = m.text(name, files[name])
			}
		}
		c.Mounts[i].Files = files
	}
	if c.Health != nil {
		check := *c.Health
		check.Test = m.words(check.Test)
		c.Health = &check
	}
}

// variable masks the value of a variable of a container, in which no shell fills in anything.
func (m masker) variable(name, value string) string {
	if secret.Named(name) || m.hasSecret(value) {
		return m.masked(name, value)
	}
	return m.text(name, value)
}

// masked masks a value and returns the reference to it. In a text of a compose file it leaves the variables,
// and masks the pieces between them.
func (m masker) masked(name, value string) string {
	if m.escaped {
		value, _ = secret.Plain(value)
	}
	pieces := strings.Split(value, variableMark)
	for i, piece := range pieces {
		if authScheme.ReplaceAllString(piece, "") != "" {
			pieces[i] = secret.Reference(m.Mask("system "+m.system, name, piece))
		}
	}
	return strings.Join(pieces, variableMark)
}

// authScheme matches what stands before the secret in the value of a header.
var authScheme = regexp.MustCompile(`(?i)^(bearer|basic|token) +`)

// leastContained is the length in bytes of the shortest secret that hasSecret finds within a text: shorter
// ones occur in texts by chance.
const leastContained = 4

// hasSecret reports whether a text is the value of a Secret of the manifests, or contains such a value.
func (m masker) hasSecret(text string) bool {
	return slices.ContainsFunc(m.secrets, func(value string) bool {
		if len(value) >= leastContained {
			return strings.Contains(text, value)
		}
		return value == text && text != ""
	})
}

// isFilledIn reports whether a value has no secret because it is empty or filled in later: {port}, in env a
// reference, elsewhere nothing but variables of a shell.
func (m masker) isFilledIn(value string) bool {
	rest := strings.Trim(authScheme.ReplaceAllString(value, ""), `"'`)
	if rest == "" || rest == portMark {
		return true
	}
	if m.escaped {
		return secret.HasReference(value)
	}
	return secret.IsVariables(rest)
}

// value masks a whole value if its name is that of a secret, unless it is filled in later. Otherwise it masks
// the secrets within the value.
func (m masker) value(name, value string) string {
	if secret.Named(name) && !m.isFilledIn(value) {
		return m.masked(name, value)
	}
	return m.text(name, value)
}

// assignment matches NAME=VALUE within a text.
var assignment = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.-]*)=("[^"]*"|'[^']*'|[^\s;&|"']+)`)

// text masks the secrets within a text: values in NAME=VALUE whose name is that of a secret, and the
// passwords of URLs. name is the place of the text, for references and warnings.
func (m masker) text(name, text string) string {
	text = assignment.ReplaceAllStringFunc(text, func(found string) string {
		parts := assignment.FindStringSubmatch(found)
		if secret.Named(parts[1]) {
			return parts[1] + "=" + m.value(parts[1], parts[2])
		}
		return found
	})
	return secret.ReplacePasswords(text, func(password string) string {
		if m.isFilledIn(password) {
			return password
		}
		return m.masked(name+"_PASSWORD", password)
	})
}

// words masks the secrets in the arguments of a command: --token=x, --token x, TOKEN=x, 'Token: x'.
func (m masker) words(argv []string) []string {
	masked := slices.Clone(argv)
	before := ""
	for i, word := range argv {
		masked[i] = m.argument(optionOf(before, word), word)
		before = word
	}
	return masked
}

// headerLine matches an argument such as 'Authorization: Bearer abc'. Without a space only the usual headers
// count: secrets:/run is a volume, and auth:1.2 an image.
var headerLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*: +|(?i:authorization|cookie|x-[a-z0-9-]+):)(.+)$`)

// argument masks the secrets in an argument, which may be a whole command line, as that of sh -c. name is the
// option before it, or its key in a compose file.
func (m masker) argument(name, word string) string {
	line := headerLine.FindStringSubmatch(word)
	switch {
	case secret.Named(name):
		return m.value(name, word)
	case m.hasSecret(word):
		return m.masked("argument", word)
	case line != nil && secret.Named(line[1]):
		return line[1] + m.value(strings.TrimRight(line[1], ": "), line[2])
	}
	return m.commandLine(cmp.Or(name, "command"), word)
}

// optionOf returns the argument before another argument if it is an option with that value, or "" if not.
func optionOf(before, argument string) string {
	isOption := strings.HasPrefix(before, "-") && !strings.ContainsAny(before, "= ")
	if isOption && !strings.HasPrefix(argument, "-") {
		return before
	}
	return ""
}

// optionWithValue matches an option and its value within a command line: --token x.
var optionWithValue = regexp.MustCompile(`(--?[A-Za-z][A-Za-z0-9_-]*) +([^\s;&|"'-][^\s;&|"']*)`)

// commandLine masks the secrets in a command that is one string, such as "serve --token x".
func (m masker) commandLine(name, text string) string {
	masked := optionWithValue.ReplaceAllStringFunc(text, func(found string) string {
		parts := optionWithValue.FindStringSubmatch(found)
		if secret.Named(parts[1]) {
			return parts[1] + " " + m.value(parts[1], parts[2])
		}
		return found
	})
	return m.text(name, masked)
}

// variableName matches the names of variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readEnvFile reads lines NAME=VALUE. Lines that begin with # are comments. Quotes are part of the value.
func readEnvFile(path string) (map[string]string, error) {
	text, err := inputfile.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		name, value, assigned := strings.Cut(line, "=")
		if !assigned || !variableName.MatchString(name) {
			// The error does not show the line, which may be a secret.
			return nil, fmt.Errorf("%s:%d: expected NAME=VALUE", path, number)
		}
		values[name] = value
	}
	return values, nil
}

// envFileOf returns the variables of the system's env_file, if it has one and the file exists.
func envFileOf(x *lab.ExternalSystem) (map[string]string, error) {
	if x.EnvFile == "" {
		return nil, nil
	}
	values, err := readEnvFile(x.EnvFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("env_file: %w", err)
	}
	return values, nil
}

// environment returns the environment of the system's commands, with all references filled in. If the
// env_file does not exist, the environment of Cleave must have the variables of the file.
func (s System) environment(x *lab.ExternalSystem) ([]string, error) {
	ofFile, err := envFileOf(x)
	if err != nil {
		return nil, err
	}
	var all []string
	var missing []error
	for _, name := range slices.Sorted(maps.Keys(x.Env)) {
		value, err := s.Secrets.Fill(x.Env[name], ofFile)
		if err != nil {
			missing = append(missing, fmt.Errorf("env %s: %w", name, err))
		}
		all = append(all, name+"="+value)
	}
	return all, errors.Join(missing...)
}

// arguments returns the arguments of a command, with the masked values filled in.
func (s System) arguments(argv []string) ([]string, error) {
	var filled []string
	var missing []error
	for _, word := range argv {
		text, err := s.Secrets.FillMasked(word)
		filled = append(filled, text)
		missing = append(missing, err)
	}
	return filled, errors.Join(missing...)
}
