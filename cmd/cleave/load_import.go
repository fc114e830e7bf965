package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/load/convert"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/shell"
)

// importFlags are the flags of load import.
type importFlags struct {
	output  string
	force   bool
	options convert.Options
}

func (a app) loadImportCommand() *cobra.Command {
	var flags importFlags
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "make a scenario from a recording, a description, a test plan, commands or a log",
		Long: `Makes a scenario from a recording of a browser (.har), a description of an
interface (OpenAPI 3, Swagger 2), a test plan of JMeter (.jmx), commands of curl
(as browsers copy them), a collection of Postman, an access log (common,
combined, JSON) or a script of k6. With - as FILE it reads standard input.

What has no counterpart in a scenario, or behaves differently, is listed: on the
terminal and as comments at the top of the scenario. Read both before you play
it. Nothing is fetched. Only scripts of k6 are run: one iteration, in a sandbox
that sends nothing. docs/importing.md lists what each input is converted to.`,
		Example: `  cleave load import shop.har -o shop.yaml
  cleave load import api.yaml -o api-scenario.yaml
  cleave load import plan.jmx --group Buyers -o buyers.yaml
  cleave load import - -o copied.yaml < commands.sh
  cleave load import access.log -o replay.yaml`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.loadImport(args[0], &flags)
		},
	}
	f := command.Flags()
	o := &flags.options
	f.StringVarP(&flags.output, "output", "o", "-", "`file` for the scenario, - for standard output")
	f.BoolVar(&flags.force, "force", false, "overwrite existing files")
	f.StringVar(&o.Format, "format", "",
		"`format` of the input: har, openapi, jmx, curl, postman, log or k6 (default: by the file)")
	f.StringVar(&o.Host, "host", "",
		"`host` to keep, such as shop.example.org:8080 (default: that of the first page, or of most requests)")
	f.BoolVar(&o.NoThink, "no-think", false, "leave out the pauses between requests")
	f.StringVar(&o.Group, "group", "",
		"JMeter: thread `group` to convert (default: all, if their loads agree); k6: scenario")
	return command
}

// loadImport converts a file, writes the scenario and prints what could not be converted.
func (a app) loadImport(path string, flags *importFlags) error {
	var conversion convert.Conversion
	var err error
	from := filepath.Base(path)
	if path == "-" {
		from = "standard input"
		conversion, err = convert.Read(a.in, flags.options)
	} else {
		conversion, err = convert.ReadFile(path, flags.options)
	}
	if err != nil {
		return badPlan(err)
	}
	text, err := conversion.YAML(from)
	if err != nil {
		return err
	}
	if isOutput(flags.output) {
		_, err = a.out.Write(text)
		a.listNotConverted(&conversion)
		for _, name := range slices.Sorted(maps.Keys(conversion.Beside)) {
			fmt.Fprintf(a.errOut, "the scenario needs the data file %s, which is written with --output FILE\n", name)
		}
		return err
	}
	if flags.output == os.DevNull { // only the list is wanted
		a.listNotConverted(&conversion)
		return nil
	}
	if err := flags.writeImport(text, conversion.Beside); err != nil {
		return err
	}
	a.listNotConverted(&conversion)
	fmt.Fprintf(a.errOut, "wrote %s\n", flags.output)
	a.checkImport(flags.output, text)
	return nil
}

// writeImport writes the scenario and its data files. It checks all paths first: if one cannot be written, or
// exists and may not be overwritten, it writes nothing.
func (f *importFlags) writeImport(text []byte, dataFiles map[string][]byte) error {
	files := map[string][]byte{f.output: text}
	for name, data := range dataFiles {
		files[filepath.Join(filepath.Dir(f.output), name)] = data
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if _, err := os.Lstat(path); err == nil && !f.force {
			return withCode(exitBadPlan, "%s exists: choose another name, or --force to overwrite it", path)
		}
		if err := checkOutput("--output", path); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		err := writeFile(path, func(w io.Writer) error {
			_, err := w.Write(files[path])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// listNotConverted prints the parts of the file that the scenario lacks.
func (a app) listNotConverted(c *convert.Conversion) {
	if len(c.NotConverted) == 0 {
		fmt.Fprintln(a.errOut, "everything was converted")
		return
	}
	fmt.Fprintf(a.errOut, "not converted, or different from the original (%d):\n", len(c.NotConverted))
	for _, note := range c.NotConverted {
		fmt.Fprintf(a.errOut, "  %s\n", note)
	}
}

// checkImport prints why the scenario cannot be played yet, or else the command that
// plays it.
func (a app) checkImport(path string, text []byte) {
	file, err := scenario.Parse(path, text)
	if err == nil {
		var filled scenario.File
		if filled, err = fillScenario(a.secrets, *file); err == nil {
			_, err = filled.Compile(filepath.Dir(path))
		}
	}
	if err != nil {
		fmt.Fprintf(a.errOut, "it cannot be played yet:\n%v\n", err)
		return
	}
	next := shell.Quote("cleave", "load", path)
	if file.Target == "" {
		next += " --target http://127.0.0.1:8080"
	}
	if file.Load == nil {
		next += " --rate 10 --duration 30s"
	}
	fmt.Fprintf(a.errOut, "next: %s\n", next)
}
