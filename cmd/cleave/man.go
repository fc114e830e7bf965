package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual from the same definitions that the help comes from. It is
// for those who make packages. SOURCE_DATE_EPOCH sets the date of the pages.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "write a manual page for each command into a folder", Hidden: true,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			root.DisableAutoGenTag = true
			root.Long += "\n\n```\n" + exitCodesTopic().Long + "```\n"
			header := doc.GenManHeader{Section: "1", Source: "cleave " + version, Manual: "Cleave"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return fmt.Errorf("write the manual into %s: %w: name a folder that is there", args[0], err)
			}
			return nil
		},
	}
}
