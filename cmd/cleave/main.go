// Command cleave measures what a software architecture costs. This package is
// the command line: it joins the rooms and holds no knowledge of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/report/plain"
)

// version is set by the linker; see the Makefile.
var version = "development"

func main() {
	// A reader of our output that goes away must not keep us from cleaning up:
	// writing to it then fails, and that is all.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newRoot(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(plain.NewWriter(os.Stderr), "cleave: "+strings.ReplaceAll(err.Error(), "\n", "\n        "))
	}
	os.Exit(exitCode(err))
}

// newRoot builds the command line on the given streams. What it shows steers no
// terminal, wherever a text comes from; only an agent's protocol passes as it is.
func newRoot(in io.Reader, rawOut, rawStory io.Writer) *cobra.Command {
	out, story := plain.NewWriter(rawOut), plain.NewWriter(rawStory)
	root := &cobra.Command{
		Use:   "cleave",
		Short: "measure what a software architecture costs",
		Long: `Cleave runs the same application in several architectures, meters and audits
each, compares them with honest statistics and answers in sentences, tables and
plots. Results go to standard output, the story to standard error.`,
		Example:       "  cleave reproduce rego2021 --quick",
		Version:       version + commit(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          arguments(cobra.NoArgs),
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(story)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return withCode(exitBadPlan, "%w", err) })
	app := app{out: out, story: story}
	root.AddCommand(
		app.reproduceCommand(), app.runCommand(), app.loadCommand(), app.reportCommand(), app.listCommand(),
		app.doctorCommand(), app.cleanCommand(), exitCodesTopic(), janitorCommand(), keeperCommand(),
		app.compareCommand(), app.checkCommand(), app.explainCommand(), app.initCommand(), agentCommand(in, rawOut),
	)
	return root
}

// commit is the commit that the program was built from, where it is known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return " (" + setting.Value + ")"
		}
	}
	return ""
}

// arguments refuses a wrong number of arguments with the exit code for it.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return withCode(exitBadPlan, "%w: see cleave help %s", err, command.Name())
		}
		return nil
	}
}

func exitCodesTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("Cleave ends with one of these codes:\n\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&text, "  %3d  %s\n", c.Code, c.Meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "what the exit codes mean", Long: text.String()}
}
