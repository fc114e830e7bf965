// Command cleave measures what a software architecture costs. This package is
// the command line: it connects the other packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/yamlfile"
)

// version is set by the linker; see the Makefile.
var version = "development"

func main() {
	// If the reader of our output ends, writes fail, but we can still clean up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal kills this process; the sweeper removes the leftovers then
	err := orInterrupted(ctx, newRoot(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx))
	stop()
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", "\n        ") // aligned behind "cleave: "
		fmt.Fprintln(plain.NewWriter(os.Stderr), "cleave: "+text)
	}
	os.Exit(exitCode(err))
}

// newRoot returns the command line with these streams. Control characters are removed from everything that
// commands print, except for the protocol of agents.
func newRoot(in io.Reader, rawOut, rawErrOut io.Writer) *cobra.Command {
	out := plain.NewWriter(rawOut)
	errOut := plain.NewWriter(rawErrOut)
	root := &cobra.Command{
		Use:   "cleave",
		Short: "measure what a software architecture costs",
		Long: `Cleave runs the same application in several architectures, meters and audits
each, compares them with honest statistics and answers in sentences, tables and
plots. Results go to standard output, progress and notes to standard error.`,
		Example:       "  cleave reproduce rego2021 --quick",
		Version:       version + commit(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rejectUnknownCommand,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages",
		fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.SetUsageFunc(usage(root.UsageFunc()))
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error { return rejectEmptyFlags(command) }
	root.SetHelpCommand(helpCommand())
	app := app{in: in, out: out, errOut: errOut, secrets: secret.NewVault(os.LookupEnv)}
	root.AddCommand(
		app.reproduceCommand(), app.runCommand(), app.loadCommand(), app.reportCommand(), app.listCommand(),
		app.doctorCommand(), app.cleanCommand(), exitCodesTopic(), sweeperCommand(),
		app.compareCommand(), app.checkCommand(), app.explainCommand(), app.bottleneckCommand(), app.initCommand(),
		app.tracesCommand(), app.modelCommand(), app.predictCommand(), app.rehearseCommand(), app.serveCommand(),
		agentCommand(in, rawOut), manCommand(),
	)
	return root
}

// commit returns the commit from which the program was built, as a remark behind the version; empty: unknown.
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

// flagError returns the error of a flag with a hint at similar flags and at the help.
func flagError(command *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return withCode(exitBadPlan, "%w: see %s", err, helpOf(command))
	}
	var known []string
	command.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return withCode(exitBadPlan, "%w%s: see %s", err, yamlfile.Suggest(unknown.GetSpecifiedName(), known),
		helpOf(command))
}

// rejectEmptyFlags returns an error for flags with an empty value, because an unset variable of a script must
// not mean the default. Only a body may be empty.
func rejectEmptyFlags(command *cobra.Command) error {
	var empty mistakes
	command.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, is := f.Value.(pflag.SliceValue); is {
			value = strings.Join(list.GetSlice(), "")
		}
		if value == "" && f.Name != "body" {
			empty.addf("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return badPlan(empty.err())
}

// rejectUnknownCommand returns an error for arguments that do not begin with a command.
func rejectUnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	known := study.NamesOf(root.Commands(), (*cobra.Command).Name)
	return withCode(exitBadPlan, "there is no command %q%s: see cleave help", args[0],
		yamlfile.Suggest(args[0], known))
}

// helpCommand returns the command that shows the help of another one. The library's own help command ends
// with exit code 0 if there is no such command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "say more about a command",
		RunE: func(help *cobra.Command, args []string) error {
			command, rest, err := help.Root().Find(args)
			if len(rest) > 0 {
				return rejectUnknownCommand(help.Root(), rest)
			}
			if err != nil {
				return err
			}
			return command.Help()
		},
	}
}

// arguments wraps a check of arguments, so that its errors have the exit code for bad arguments.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return withCode(exitBadPlan, "%w: expected %s: see %s", err, command.UseLine(), helpOf(command))
		}
		return nil
	}
}

// helpOf returns the command line that shows the help of a command: "cleave help load import".
func helpOf(command *cobra.Command) string {
	root := command.Root().Name()
	return strings.Replace(command.CommandPath(), root, root+" help", 1)
}

// exitCodesTopic returns the help topic about exit codes.
func exitCodesTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("Cleave ends with one of these codes:\n\n")
	for _, c := range exitMeanings() {
		fmt.Fprintf(&text, "  %3d  %s\n", c.code, c.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "what the exit codes mean", Long: text.String()}
}
