package external

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/yamlfile"
)

// Schema is the version of the format of system files.
const Schema = "cleave-system/1"

// readyTimeout is the default time in which a system must become ready, and maxReadyTimeout the greatest one.
const (
	readyTimeout    = 30 * time.Second
	maxReadyTimeout = 24 * time.Hour
)

// maxReadyLog is the greatest length of a text that a log is searched for.
const maxReadyLog = 200

// maxCore is the highest number of a processor in the kernel's sets of processors, by default.
const maxCore = 1023

// maxFile is the size limit of system files and compose files, in bytes.
const maxFile = yamlfile.SmallFile

// imagePattern matches valid names of images. They become parts of paths of Docker's API.
var imagePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-zA-Z0-9][a-zA-Z0-9._-]*)*` +
	`(:[a-zA-Z0-9_][a-zA-Z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)

// maxPort is the highest port number.
const maxPort = 65535

// Definition is a system with its name.
type Definition struct {
	Name    string
	Summary string
	// Deployment is the deployment; empty: the default of the system's kind. See In.
	Deployment string
	lab.ExternalSystem
	// Replicas and Limits are those of services, by their names.
	Replicas map[string]int
	Limits   map[string]lab.Limits
	// Risks lists what gives services power over this host, and Notes how they differ from services run by
	// docker compose or kubectl: one line each.
	Risks, Notes []string
	Builds       []Build // the builds of images that a compose file describes
	dirNamed     bool    // the system file has dir; otherwise Dir is its own folder
	composeFile  string  // path of the compose file; empty: none
	manifests    string  // path of a file or folder of manifests; empty: none
	project      *project
	changes      map[string]*change // of services, by their names
	writtenURL   string             // the url of the system file, or --url
}

// file is the content of a system file. It has one of command, image, compose and manifests, or only a url;
// with an image, command has the arguments of its container.
type file struct {
	Schema     string            `yaml:"schema,omitempty"`
	Name       string            `yaml:"name,omitempty"`
	Summary    string            `yaml:"summary,omitempty"`
	URL        string            `yaml:"url,omitempty"`
	Command    argv              `yaml:"command,omitempty"`
	Image      string            `yaml:"image,omitempty"`
	Port       int               `yaml:"port,omitempty"`
	Compose    string            `yaml:"compose,omitempty"`
	Manifests  string            `yaml:"manifests,omitempty"`
	Change     map[string]any    `yaml:"change,omitempty"`
	Deployment string            `yaml:"deployment,omitempty"`
	Dir        string            `yaml:"dir,omitempty"`
	Env        map[string]string `yaml:"env,omitempty"`
	EnvFile    string            `yaml:"env_file,omitempty"`
	Ready      ready             `yaml:"ready,omitempty"`
	Reset      argv              `yaml:"reset,omitempty"`
	Audit      audit             `yaml:"audit,omitempty"`
	Cores      []int             `yaml:"cores,omitempty"`
}

// ready is the value of the key ready.
type ready struct {
	Log     string        `yaml:"log,omitempty"`
	Command argv          `yaml:"command,omitempty"`
	Path    string        `yaml:"path,omitempty"`
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

// audit is the value of the key audit.
type audit struct {
	Command  argv `yaml:"command,omitempty"`
	Requests []struct {
		Get    string         `yaml:"get"`
		Status int            `yaml:"status,omitempty"`
		JSON   map[string]any `yaml:"json,omitempty"`
	} `yaml:"requests,omitempty"`
	Databases map[string]lab.AuditDatabase `yaml:"databases,omitempty"`
	Queries   []auditQuery                 `yaml:"queries,omitempty"`
}

// argv is a command: a list, or a text that shell.Split splits.
type argv []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *argv) UnmarshalText(text []byte) (err error) {
	*a, err = shell.Split(string(text))
	return err
}

// Parse returns the definition in a system file with this path and text. Relative paths start from the folder
// of the file. The error has all mistakes.
func Parse(path string, data []byte) (Definition, error) {
	r := yamlfile.Reader{File: path, Format: yamlfile.Small("system", Schema)}
	var f file
	if root := r.Root(data); root != nil {
		lines := r.Decode(root, &f)
		f.Audit.check(func(place, format string, args ...any) {
			r.Problem(lines[place], "%s: "+format, append([]any{place}, args...)...)
		})
	}
	if err := r.Problems.OrNil(); err != nil {
		return Definition{}, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Definition{}, err
	}
	d, mistakes := f.definition(folder)
	return d, joinMistakes(path, mistakes)
}

// joinMistakes returns mistakes as one error, each with the place where it is; nil if there are none.
func joinMistakes(place string, mistakes []error) error {
	for i, mistake := range mistakes {
		mistakes[i] = fmt.Errorf("%s: %w", place, mistake)
	}
	return errors.Join(mistakes...)
}

// definition returns the definition in the file, with defaults, and all mistakes.
func (f *file) definition(folder string) (Definition, []error) {
	var mistakes []error
	mistake := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	if f.Schema != Schema {
		mistake("schema is %q, this cleave reads %q", f.Schema, Schema)
	}
	d := Definition{Name: f.Name, Summary: f.Summary, Deployment: f.Deployment, dirNamed: f.Dir != ""}
	d.ExternalSystem = lab.ExternalSystem{
		URL: f.URL, Command: f.Command, Image: f.Image, Port: f.Port, Env: f.Env, Reset: f.Reset, Cores: f.Cores,
		Ready: lab.SystemReady{
			Log: f.Ready.Log, Command: f.Ready.Command,
			ReadyCheck: lab.ReadyCheck{Path: f.Ready.Path, Timeout: f.Ready.Timeout.Seconds()},
		},
	}
	d.Dir = within(folder, f.Dir)
	if len(f.Audit.Command)+len(f.Audit.Requests)+len(f.Audit.Queries) > 0 {
		var err error
		if d.Audit, err = f.Audit.definition(folder); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if f.EnvFile != "" {
		if err := d.addEnvFile(within(folder, f.EnvFile)); err != nil {
			mistake("env_file: %w", err)
		}
	}
	switch {
	case f.Compose != "" && f.Manifests != "":
		mistake("give compose or manifests, only one of them")
	case f.Compose != "":
		d.composeFile = within(folder, f.Compose)
	case f.Manifests != "":
		d.manifests = within(folder, f.Manifests)
	case len(f.Change) > 0:
		mistake("change is for services of a compose file or of manifests: there is no compose, nor manifests")
	}
	if d.HasUnits() {
		d.writtenURL = f.URL
		var err error
		if d.changes, err = changesOf(f.Change); err == nil {
			err = d.resolve()
		}
		if err != nil {
			mistakes = append(mistakes, err)
		}
	}
	mistakes = append(mistakes, d.complete()...)
	return d, mistakes
}

// addEnvFile adds the variables of a file to Env, unless they are there. Env, which goes into the plan, gets
// only references: the values are read when the system is started.
func (d *Definition) addEnvFile(path string) error {
	d.EnvFile = path
	values, err := readEnvFile(path)
	env := map[string]string{}
	for name := range values {
		env[name] = secret.Reference(name)
	}
	maps.Copy(env, d.Env)
	d.Env = env
	return err
}

// within returns a path that a file in the folder names: relative ones start from the folder.
func within(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// complete fills in defaults and returns mistakes.
func (d *Definition) complete() (mistakes []error) {
	mistake := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	if !yamlfile.IsName(d.Name) {
		mistake("name is %q, expected at most %d lower-case letters, digits, dots and dashes", d.Name,
			yamlfile.MaxName)
	}
	started := len(d.Command) > 0 || d.Image != ""
	if started && d.HasUnits() {
		mistake("give command, image, compose or manifests, only one of them")
	}
	texts := append(slices.Collect(maps.Values(d.Env)), d.Command...)
	marked := d.Port != 0 || strings.Contains(strings.Join(texts, " "), portMark)
	if len(d.Services) > 0 {
		started, marked = true, true
	}
	if d.URL == "" && started && marked {
		d.URL = "http://127.0.0.1:" + portMark + "/"
	}
	switch {
	case d.Image == "" && d.Port != 0:
		mistake("port is the one that an image listens on: the port of a command is %s, or in url", portMark)
	case d.Image != "" && !marked:
		mistake("port is missing: which one does %s listen on? (Cleave chooses one when command or env has %s)",
			d.Image, portMark)
	case d.Port < 0 || d.Port > maxPort:
		mistake("port is %d, expected 1 to %d", d.Port, maxPort)
	case d.Image != "" && len(d.Reset) > 0:
		mistake("reset is a program of this host, and a container begins afresh in every trial: leave it out")
	}
	if d.Image != "" {
		if err := checkImage(d.Image); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if d.URL == "" {
		mistake("url is missing: where is the system to be found? (Cleave chooses a port when the command has %s)",
			portMark)
	} else if err := checkURL(d.URL); err != nil {
		mistakes = append(mistakes, err)
	}
	if strings.Contains(d.URL, portMark) != (started && marked) {
		mistake("%s must be in url and in command, env or (as port) in the image, or in neither", portMark)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		if err := checkVariable(name); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	for _, core := range d.Cores {
		if core < 0 || core > maxCore {
			mistake("cores has %d, expected numbers from 0 to %d", core, maxCore)
		}
	}
	return append(mistakes, d.completeReady()...)
}

// completeReady fills in defaults of Ready and returns mistakes in it.
func (d *Definition) completeReady() (mistakes []error) {
	mistake := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	awaited, at := d.Ready.Log != "" || len(d.Ready.Command) > 0, d.URL
	if checkURL(at) != nil {
		at = d.Name // the URL may have a password
	}
	switch {
	case awaited && d.HasUnits():
		mistake("ready.log and ready.command are not for compose files and manifests, which say that themselves: " +
			"healthcheck, and depends_on with condition: service_healthy; or readinessProbe")
	case awaited && d.RunsAlready():
		mistake("ready.log and ready.command are for systems that Cleave starts, and %s runs already: give "+
			"ready.path", at)
	}
	if len(d.Ready.Log) > maxReadyLog || strings.ContainsAny(d.Ready.Log, "\r\n") {
		mistake("ready.log is %q, expected a part of one line, of at most %d characters", d.Ready.Log, maxReadyLog)
	}
	switch {
	case d.Ready.Timeout == 0:
		d.Ready.Timeout = readyTimeout.Seconds()
	case d.Ready.Timeout < 0:
		mistake("ready.timeout is negative")
	case d.Ready.Timeout > maxReadyTimeout.Seconds():
		mistake("ready.timeout is %g s, expected at most %.0fh", d.Ready.Timeout, maxReadyTimeout.Hours())
	}
	if d.Ready.Path != "" && !strings.HasPrefix(d.Ready.Path, "/") {
		mistake("ready.path is %q, expected a path such as /health", d.Ready.Path)
	}
	return mistakes
}

// checkImage returns an error unless the name of an image is valid.
func checkImage(name string) error {
	if !imagePattern.MatchString(name) {
		return fmt.Errorf("image is %q, expected a name such as host/path@sha256:... or nginx:1.27", name)
	}
	return nil
}

// checkVariable returns an error unless a variable of an environment can have this name.
func checkVariable(name string) error {
	if name == "" || strings.Contains(name, "=") {
		return fmt.Errorf("env has the name %q, expected one such as MODE", name)
	}
	return nil
}

// checkURL returns an error unless a url of a system file is valid.
func checkURL(text string) error {
	u, err := url.Parse(strings.ReplaceAll(text, portMark, "80"))
	lacksHost := err != nil || u.Host == ""
	switch {
	case err == nil && u.User != nil:
		return errors.New("url holds a user or a password: send it as a header: -H 'Authorization: ${NAME}'")
	case lacksHost && strings.Contains(text, "@"):
		// Neither the text nor the error is shown: both may contain a password.
		return errors.New("url cannot be read (it is not shown: it may hold a password): write for example " +
			"http://127.0.0.1:8080/, and send a password as a header")
	case err != nil:
		return fmt.Errorf("url: %w", err)
	case lacksHost || !slices.Contains([]string{"http", "https", "grpc", "grpcs"}, u.Scheme):
		return fmt.Errorf("url is %q, expected http://, https://, grpc:// or grpcs:// and a host", text)
	}
	return nil
}
