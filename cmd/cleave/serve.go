package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/report/serve"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/store"
)

// serveName is the name of the command, and of the flag that shows a running experiment in the browser.
const serveName = "serve"

// usualAddress is the default address of the pages of runs.
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
				return badPlan(err)
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

// runPage shows a run in the browser while it is played. Without a listener it shows nothing.
type runPage struct {
	app
	listener net.Listener
	private  bool               // the page needs a token, since other hosts can reach it
	end      context.CancelFunc // nil before show
	ended    chan error
}

// openPage listens on an address. If it is empty, the page shows nothing.
func (a app) openPage(address string) (*runPage, error) {
	page := &runPage{app: a, ended: make(chan error, 1)}
	if address == "" {
		return page, nil
	}
	var err error
	if page.listener, page.private, err = serve.Listen(address); err != nil {
		return nil, withCode(exitBadPlan, "--%s: %w", serveName, err)
	}
	return page, nil
}

// show prints the address of the page of the run in a folder. Until close it serves this page, and those of
// all runs of the same results folder, even after ctx ends: so it also shows the report of an interrupted
// run.
func (p *runPage) show(ctx context.Context, folder, study string) error {
	if p.listener == nil {
		return nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	results := filepath.Dir(folder)
	if filepath.Base(results) == study { // a new run is in results/STUDY/RUN; with --resume it may be elsewhere
		results = filepath.Dir(results)
	}
	name, err := filepath.Rel(results, folder)
	if err != nil {
		return err
	}
	shelf, err := store.OpenShelf(results)
	if err != nil {
		return err
	}
	server, err := serve.New(shelf, p.private)
	if err != nil {
		return errors.Join(err, shelf.Close())
	}
	fmt.Fprintf(p.errOut, "watch it at %s\n", server.URL(p.listener, filepath.ToSlash(name)))
	ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		served := server.Serve(ctx, p.listener, log.New(p.errOut, "", 0))
		p.ended <- errors.Join(served, shelf.Close())
	}()
	return nil
}

// close ends the page. It only warns of an error, because the run must not fail with the page.
func (p *runPage) close() {
	if p.listener == nil {
		return
	}
	var err error
	if p.end == nil {
		err = p.listener.Close()
	} else {
		p.end()
		err = <-p.ended
	}
	if err != nil {
		p.warn("--%s: %v", serveName, err)
	}
}

// keepJournals makes a conductor write its progress into files of the folder, for pages that show the run.
// end closes them.
func keepJournals(conductor *run.Conductor, folder *store.Folder) (end func(), err error) {
	journal, err := folder.Progress()
	if err != nil {
		return nil, err
	}
	file, err := folder.Seconds()
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	seconds := progress.NewSeconds(file)
	conductor.Seconds = seconds
	conductor.Progress = progress.Both{conductor.Progress, progress.New(journal, progress.JSON, time.Now)}
	return func() {
		// Errors do not matter: all lines are written already, and they are only for pages.
		_ = errors.Join(journal.Close(), seconds.Close(), folder.RemoveSeconds())
	}, nil
}
