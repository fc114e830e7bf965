package external

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
	escaped bool     // in the texts, $${ stands for ${
}

// container masks the environment, the commands, the files and the health check of a container. The variables
// of the compose file are resolved by now, so a ${ that is left belongs to the value.
func (m masker) container(c *lab.ContainerSpec) {
	c.Env = slices.Clone(c.Env)
	for i, variable := range c.Env {
		name, value, _ := strings.Cut(variable, "=")
		if (secret.Named(name) || m.hasSecret(value)) && value != "" {
			c.Env[i] = name + "=" + m.masked(name, value)
		} else {
			c.Env[i] = name + "=" + m.text(name, value)
		}
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

// masked masks a value and returns the reference to it.
func (m masker) masked(name, value string) string {
	if m.escaped {
		value, _ = secret.Plain(value)
	}
	return secret.Reference(m.Mask("system "+m.system, name, value))
}

// hasSecret reports whether a text is the value of a Secret of the manifests, or contains such a value.
// Values of fewer than four bytes do not count as contained, since they occur in texts by chance.
func (m masker) hasSecret(text string) bool {
	return slices.ContainsFunc(m.secrets, func(value string) bool {
		return value == text && text != "" || len(value) >= 4 && strings.Contains(text, value)
	})
}

// noSecret matches values that are empty, or that a shell or the deployer fills in later: $NAME or {port}.
var noSecret = regexp.MustCompile(`^["']?(\$[A-Za-z_][A-Za-z0-9_]*|\{port\})?["']?$`)

// value masks a whole value if its name is that of a secret, unless noSecret matches it or it has a
// reference. Otherwise it masks the secrets within the value.
func (m masker) value(name, value string) string {
	if secret.Named(name) && !noSecret.MatchString(value) && !secret.HasReference(value) {
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
	if m.escaped {
		return m.MaskURLs("system "+m.system, name, text, secret.Reference)
	}
	return m.MaskURLsOfShell("system "+m.system, name, text)
}

// headerLine matches an argument such as 'Authorization: Bearer abc'.
var headerLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*): *(.+)$`)

// words masks the secrets in the arguments of a command: --token=x, --token x, TOKEN=x, 'Token: x'.
func (m masker) words(argv []string) []string {
	masked := slices.Clone(argv)
	before := ""
	for i, word := range argv {
		option := optionOf(before, word)
		before = word
		line := headerLine.FindStringSubmatch(word)
		switch {
		case secret.Named(option):
			masked[i] = m.value(option, word)
		case m.hasSecret(word):
			masked[i] = m.masked("argument", word)
		case line != nil && secret.Named(line[1]):
			masked[i] = line[1] + ": " + m.value(line[1], line[2])
		default:
			masked[i] = m.commandLine(word) // sh -c has a command line in one argument
		}
	}
	return masked
}

// optionOf returns the argument before another argument if it is an option with that value, or "" if not.
func optionOf(before, argument string) string {
	if !strings.HasPrefix(before, "-") || strings.ContainsAny(before, "= ") || strings.HasPrefix(argument, "-") {
		return ""
	}
	return before
}

// optionWithValue matches an option and its value within a command line: --token x.
var optionWithValue = regexp.MustCompile(`(--?[A-Za-z][A-Za-z0-9_-]*) +([^\s;&|"'-][^\s;&|"']*)`)

// commandLine masks the secrets in a command that is one string, such as "serve --token x".
func (m masker) commandLine(text string) string {
	return m.text("command", optionWithValue.ReplaceAllStringFunc(text, func(found string) string {
		parts := optionWithValue.FindStringSubmatch(found)
		if secret.Named(parts[1]) {
			return parts[1] + " " + m.value(parts[1], parts[2])
		}
		return found
	}))
}

// compose masks the secrets in all documents of a compose file. A file without secrets stays the same byte
// for byte: only a file with masked values is encoded again.
func (m masker) compose(text string) (string, error) {
	var written strings.Builder
	encoder := yaml.NewEncoder(&written)
	masked := false
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			masked = m.node("", &document) || masked
			err = encoder.Encode(&document)
		}
		if err != nil {
			return "", fmt.Errorf("compose file: %w", err)
		}
	}
	err := encoder.Close()
	if masked {
		text = written.String()
	}
	return text, err
}

// node masks the secrets below a node of a compose file, and reports whether it has masked any. name is the
// key of the node, or the option before it in a list. The compose command fills in the references, since its
// environment has the values.
func (m masker) node(name string, n *yaml.Node) (masked bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			masked = m.node(n.Content[i].Value, n.Content[i+1]) || masked
		}
	case yaml.DocumentNode, yaml.SequenceNode:
		before := ""
		for _, child := range n.Content {
			option := optionOf(before, child.Value)
			before = child.Value
			masked = m.node(option, child) || masked
		}
	case yaml.AliasNode:
		if n.Alias.Kind == yaml.ScalarNode { // what holds others is masked at its anchor
			masked = m.node(name, n.Alias)
		}
	case yaml.ScalarNode:
		plain := strings.ReplaceAll(n.Value, "$$", "$") // as the container gets it
		variable := strings.Contains(strings.ReplaceAll(n.Value, "$$", ""), "$")
		key, value, assigned := strings.Cut(plain, "=")
		line := headerLine.FindStringSubmatch(plain)
		text := plain
		switch {
		case n.Tag == "!!null" || n.Tag == "!!bool" || variable || plain == "": // it stays
		case secret.Named(name):
			text = m.masked(name, plain)
		case assigned && value != "" && secret.Named(key) && !strings.ContainsAny(key, " \t"):
			text = key + "=" + m.masked(key, value)
		case line != nil && secret.Named(line[1]):
			text = line[1] + ": " + m.masked(line[1], line[2])
		case name == "command" || name == "entrypoint" || name == "test":
			text = m.commandLine(plain)
		default:
			text = m.text(name, plain)
		}
		if masked = text != plain; masked {
			escaped := strings.ReplaceAll(text, "$", "$$")
			n.Value = strings.ReplaceAll(escaped, "$${"+secret.Prefix, "${"+secret.Prefix)
			n.Tag = "!!str"
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return masked
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
	if x.Compose != nil {
		for _, name := range secret.MaskedIn(x.Compose.Text) {
			value, known := s.Secrets.Value(name, nil)
			if !known {
				missing = append(missing, fmt.Errorf("compose: %w", secret.MissingError{name}))
			}
			all = append(all, name+"="+value)
		}
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
