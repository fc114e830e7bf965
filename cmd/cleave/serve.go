package main

import (
	"errors"
	"fmt"
	"log"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/report/serve"
	"github.com/cleave-lab/cleave/store"
)

// serveName is the name of the command, and of the flag that shows a running experiment in the browser.
const serveName = "serve"

// usualAddress is the default address of the list of runs.
const usualAddress = "127.0.0.1:8600"

func (a app) serveCommand() *cobra.Command {
	var address string
	command := &cobra.Command{
		Use:   serveName + " [FOLDER]",
		Short: "show the runs of a results folder in the browser: list, reports, one run against another",
		Long: `Shows the runs of a folder (default: results) in the browser until Ctrl-C: a list
to search, each run's report, and one run against another. It needs no network,
starts nothing, and writes nothing but the tags and notes that you give to runs.

Only this host can reach it, unless --address names an address that others can
reach. Then it answers only those who know the token in the URL that it prints.`,
		Example: "  cleave serve\n  cleave serve results/shop --address 127.0.0.1:8700",
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) (err error) {
			folder := "results"
			if len(args) > 0 {
				folder = args[0]
			}
			shelf, err := store.OpenShelf(folder)
			if err != nil {
				return withCode(exitBadPlan, "%w", err)
			}
			defer func() { err = errors.Join(err, shelf.Close()) }()
			listener, private, err := serve.Listen(address)
			if err != nil {
				return withCode(exitBadPlan, "--address: %w", err)
			}
			server, err := serve.New(shelf, private)
			if err != nil {
				return errors.Join(err, listener.Close())
			}
			fmt.Fprintln(a.out, server.URL(listener, ""))
			fmt.Fprintf(a.errOut, "shows the runs of %s; Ctrl-C ends it\n", folder)
			return server.Serve(command.Context(), listener, log.New(a.errOut, "", 0))
		},
	}
	command.Flags().StringVar(&address, "address", usualAddress, "`IP:PORT` to listen on")
	return command
}
