package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
)

// deployFlagName names the flag that deploys every variant in one way.
const deployFlagName = "deploy"

// deployFlag is a deployment's name, or empty: each variant keeps its own.
type deployFlag string

// registerDeploy makes the flag.
func registerDeploy(command *cobra.Command, into *deployFlag) {
	command.Flags().Var(into, deployFlagName, "deploy every variant in this `way`: "+
		strings.Join(lab.Deployments(), ", "))
	registerCluster(command)
	registerHosts(command)
}

// deployment is that of variants that no study file names.
func (f *experimentFlags) deployment() string { return cmp.Or(string(f.deploy), lab.Process) }

// refuses says why a deployment cannot be what a variant asks for; nil: it can.
func refuses(v lab.Variant) error {
	ways, err := deployers("", "", "")
	if err != nil {
		return err
	}
	if err := v.SupportedBy(ways[v.Deployment]); err != nil {
		return err
	}
	system, is := systemNamed[lab.System](v.System, conditions{})
	if !is {
		return nil
	}
	a, _ := system.Describe().Architecture(v.Architecture)
	if a.KnobValue(v, lab.KnobDisk) == lab.DiskReplicated {
		_, err = lab.ReplicatorOf(ways[v.Deployment])
	}
	return err
}

// String implements pflag.Value.
func (d *deployFlag) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *deployFlag) Type() string { return "way" }

// Set implements pflag.Value.
func (d *deployFlag) Set(name string) error {
	if !slices.Contains(lab.Deployments(), name) {
		return fmt.Errorf("there is no deployment %q: use %s", name, strings.Join(lab.Deployments(), ", "))
	}
	*d = deployFlag(name)
	return nil
}
