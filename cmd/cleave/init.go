package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/systems/external"
)

// starters holds the files that init writes, named KIND.yaml.
//
//go:embed starters
var starters embed.FS

// starterKinds returns the kinds of files that init can write.
func starterKinds() []string { return []string{"system", "study", "scenario"} }

func (a app) initCommand() *cobra.Command {
	var force bool
	var from, address string
	command := &cobra.Command{
		Use:   "init [system|study|scenario] [FILE]",
		Short: "write a commented file to begin with",
		Long: `Writes a file that is valid as it is and says what every key means:
  system    a system of your own, for: cleave compare (the default)
  study     an experiment with claims, for: cleave run
  scenario  what is sent and what right answers are, for: cleave load, compare
FILE is KIND.yaml unless named. A file that is there is kept, unless --force.
With --from the system is that of a compose file, or of manifests of Kubernetes
(a file, or a folder of them).`,
		Example:   "  cleave init system shop.yaml\n  cleave init system --from k8s/",
		Args:      arguments(cobra.MaximumNArgs(2)),
		ValidArgs: starterKinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			kind := "system"
			if len(args) > 0 {
				kind = args[0]
			}
			path := kind + ".yaml"
			if len(args) > 1 {
				path = args[1]
			}
			if from == "" && address != "" {
				return withCode(exitBadPlan, "--url %s is for --from: give both, or leave it out", address)
			}
			if from == "" {
				text, err := starters.ReadFile("starters/" + kind + ".yaml")
				if err != nil {
					return withCode(exitBadPlan, "there is no file to begin with for %q; there are %s", kind,
						strings.Join(starterKinds(), ", "))
				}
				return a.init(kind, path, text, force)
			}
			if kind != "system" {
				return withCode(exitBadPlan,
					"--from %s writes a system file, not a %s: type: cleave init system --from %s", from, kind,
					shell.Quote(from))
			}
			text, err := systemFile(path, from, address)
			if err != nil {
				return badPlan(err)
			}
			return a.init(kind, path, text, force)
		},
	}
	command.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	command.Flags().StringVar(&from, "from", "",
		"compose `file`, or manifests of Kubernetes, to make the system file of")
	command.Flags().StringVar(&address, "url", "",
		"`URL` of the system that gets the load, if it publishes several ports")
	return command
}

// init writes the text to a file, and prints the command that uses a file of this kind.
func (a app) init(kind, path string, text []byte, force bool) error {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NONBLOCK // must not wait for the reader of a pipe
	}
	file, err := os.OpenFile(path, mode, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return withCode(exitBadPlan, "%s is there already: give another name, or replace it with --force", path)
	}
	if err != nil {
		return withCode(exitBadPlan, "write the %s: %w: give another path", kind, err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	next := map[string]string{
		"system": "cleave compare %s http://127.0.0.1:8080 --rate 100", "study": "cleave run %s --quick",
		"scenario": "cleave load %s --rate 100",
	}[kind]
	fmt.Fprintf(a.out, "wrote   %s\nchange  it to what you have\nthen    "+next+"\n", path,
		shell.Quote(path))
	return nil
}

// systemFile returns the content of a system file that names a compose file or manifests. Paths in it are
// relative to path, where it will be written.
func systemFile(path, from, address string) ([]byte, error) {
	d, err := external.OfServices(from, address)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	target, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(folder, target)
	if err != nil {
		return nil, err
	}
	written := struct {
		Schema    string `yaml:"schema"`
		Name      string `yaml:"name"`
		Compose   string `yaml:"compose,omitempty"`
		Manifests string `yaml:"manifests,omitempty"`
		URL       string `yaml:"url"`
	}{Schema: external.Schema, Name: d.Name, URL: d.Address()}
	if d.IsCompose() {
		written.Compose = name
	} else {
		written.Manifests = name
	}
	text, err := yaml.Marshal(written)
	if err != nil {
		return nil, err
	}
	var head strings.Builder
	comment := func(format string, args ...any) { // a line break in a text of others must not end the comment
		lines := strings.ReplaceAll(plain.Text(fmt.Sprintf(format, args...)), "\n", "\n# ")
		fmt.Fprintf(&head, "# %s\n", lines)
	}
	comment("The system of %s, for: cleave compare this.yaml other.yaml --rate 100", name)
	comment("yaml-language-server: $schema=https://cleave-lab.github.io/schema/system.schema.json")
	if services := d.Units(); len(services) > 0 {
		comment("Its units, for --fault kill:UNIT@5s: %s.", strings.Join(services, ", "))
	}
	for _, note := range d.Notes {
		comment("Note: %s.", note)
	}
	for _, risk := range d.Risks {
		comment("It asks for power over this host, which needs --trust: %s.", risk)
	}
	return append([]byte(head.String()), text...), nil
}
