package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/deploy/docker"
	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
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

// missing says what this host lacks for a variant; nil: nothing.
func missing(v lab.Variant) error {
	ways, err := deployers("", "", "")
	if err == nil {
		err = v.SupportedBy(ways[v.Deployment])
	}
	if err != nil {
		return err
	}
	if err := diskMissing(v, ways); err != nil {
		return err
	}
	if v.Deployment == lab.DockerHost || v.Deployment == lab.DockerBridge {
		if err := docker.Missing(); err != nil {
			return err
		}
	}
	if v.Deployment == lab.Kubernetes {
		if users, err := usersCluster(); err != nil || users != nil {
			return err
		}
		if err := kubernetes.Missing(); err != nil {
			return err
		}
	}
	if v.Deployment == lab.Swarm {
		if named, err := usersSwarm(); err != nil || named != nil {
			return err
		}
		if err := swarm.Missing(); err != nil {
			return err
		}
	}
	if v.Deployment == lab.SSH {
		if err := ssh.Missing(); err != nil {
			return err
		}
	}
	if system, demands := systemNamed[lab.Demanding](v.System, conditions{}); demands {
		return system.Missing(v)
	}
	return nil
}

// diskMissing says why a variant cannot have the replicated disk that it asks for; nil: it can, or
// it asks for none.
func diskMissing(v lab.Variant, ways map[string]lab.Deployer) error {
	system, is := systemNamed[lab.System](v.System, conditions{})
	if !is {
		return nil
	}
	a, _ := system.Describe().Architecture(v.Architecture)
	if a.KnobValue(v, lab.KnobDisk) != lab.DiskReplicated {
		return nil
	}
	replicator, err := lab.ReplicatorOf(ways[v.Deployment])
	if err != nil {
		return err
	}
	return replicator.Replicates()
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
