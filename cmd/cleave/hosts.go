package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/ssh"
)

// registerHosts makes the flag that names hosts of the user's.
func registerHosts(command *cobra.Command) {
	command.Flags().Var(variableFlag{variable: ssh.Variable}, "hosts",
		"deploy ssh: on these `hosts` of yours, as ssh takes them, with commas between ("+ssh.Variable+")")
}

// usersHosts are the hosts that the user names.
func usersHosts() ([]string, error) {
	names, err := ssh.Named(os.LookupEnv)
	if err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return names, nil
}

// hostAgent is what runs on hosts, and keeps units of this one: it lies beside this program.
func hostAgent(own string) string { return filepath.Join(filepath.Dir(own), "host-agent") }

// cleanHosts removes what conductors that are gone have left on the hosts that the user names.
func cleanHosts(ctx context.Context) ([]string, error) {
	names, err := usersHosts()
	if len(names) == 0 || err != nil {
		return nil, err
	}
	own, _, err := programs()
	if err != nil {
		return nil, err
	}
	label, err := launch.Own()
	if err != nil {
		return nil, err
	}
	return ssh.Clean(ctx, hostAgent(own), label.String(), names)
}
