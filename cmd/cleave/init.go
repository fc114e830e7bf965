package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// starters are the files that init writes: <kind>.yaml.
//
//go:embed starters
var starters embed.FS

// starterKinds returns what init can write.
func starterKinds() []string { return []string{"system", "study", "scenario"} }

func (a app) initCommand() *cobra.Command {
	var force bool
	command := &cobra.Command{
		Use:   "init [system|study|scenario] [FILE]",
		Short: "write a commented file to begin with",
		Long: `Writes a file that is valid as it is and says what every key means:
  system    a system of your own, for: cleave compare (the default)
  study     an experiment with claims, for: cleave run
  scenario  what is sent and what right answers are, for: cleave load, compare
FILE is KIND.yaml unless named. A file that is there is kept, unless --force.`,
		Example:   "  cleave init system shop.yaml",
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
			return a.init(kind, path, force)
		},
	}
	command.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return command
}

// init writes a starter file.
func (a app) init(kind, path string, force bool) error {
	text, err := starters.ReadFile("starters/" + kind + ".yaml")
	if err != nil {
		return withCode(exitBadPlan, "there is no file to begin with for %q; there are %s", kind,
			strings.Join(starterKinds(), ", "))
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NONBLOCK // waits for no reader of a pipe
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
	fmt.Fprintf(a.out, "wrote   %s\nchange  it to what you have\nthen    "+next+"\n", path, path)
	return nil
}
