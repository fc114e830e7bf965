package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// emptyDefault matches the default that the library writes for a flag that has none.
var emptyDefault = regexp.MustCompile(`(?m)^(\\fB-.*\\fP)(?:\[=(?:false|0)\]|=(?:""|\[\]|0s?)?)$`)

// manCommand returns the hidden command that writes the manual. The pages have the same texts as the help. It
// is for people who make packages. SOURCE_DATE_EPOCH sets the date of the pages.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "write a manual page for each command into a folder", Hidden: true,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			root.DisableAutoGenTag = true
			// The topic of help has no page of its own.
			root.Long += "\n\n```\n" + exitCodesTopic().Long + "```\n"
			if err := writeManual(root, args[0]); err != nil {
				return fmt.Errorf("write the manual into %s: %w: name a folder that is there", args[0], err)
			}
			return nil
		},
	}
}

// writeManual writes the pages of a command and its subcommands.
func writeManual(command *cobra.Command, folder string) error {
	for _, below := range command.Commands() {
		if !below.IsAvailableCommand() || below.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManual(below, folder); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	header := doc.GenManHeader{Section: "1", Source: "cleave " + version, Manual: "Cleave"}
	if err := doc.GenMan(command, &header, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(command.CommandPath(), " ", "-") + ".1"
	text := emptyDefault.ReplaceAll(page.Bytes(), []byte("$1"))
	return os.WriteFile(filepath.Join(folder, name), text, 0o666)
}
