package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/swarm"
	swarmusers "github.com/cleave-lab/cleave/deploy/swarm/users"
)

// variableFlag is a flag that is another way to set a variable, which the janitor, the
// sweeper and a later `cleave clean` read as well.
type variableFlag struct {
	variable string
	with     string // a variable that is set with it, to nothing, where it is not
}

// String implements pflag.Value.
func (f variableFlag) String() string { return os.Getenv(f.variable) }

// Type implements pflag.Value.
func (f variableFlag) Type() string { return "text" }

// Set implements pflag.Value.
func (f variableFlag) Set(text string) error {
	if _, set := os.LookupEnv(f.with); f.with != "" && !set {
		if err := os.Setenv(f.with, ""); err != nil {
			return err
		}
	}
	if f.variable == kubernetes.ConfigVariable { // the sweeper reads it, too, from another folder
		var err error
		if text, err = filepath.Abs(text); err != nil {
			return err
		}
	}
	return os.Setenv(f.variable, text)
}

// registerCluster makes the flags that name a cluster of the user's.
func registerCluster(command *cobra.Command) {
	flags := command.Flags()
	flags.Var(variableFlag{variable: kubernetes.ContextVariable}, "context",
		"deploy kubernetes: on your cluster of this `context` ("+kubernetes.ContextVariable+")")
	flags.Var(variableFlag{variable: kubernetes.ConfigVariable, with: kubernetes.ContextVariable}, "kubeconfig",
		"deploy kubernetes: on your cluster of this `file` ("+kubernetes.ConfigVariable+")")
	flags.Var(variableFlag{variable: swarmusers.SwarmVariable}, "swarm",
		"deploy swarm: on your swarm with a manager at this `address`, or of this context of docker ("+
			swarmusers.SwarmVariable+")")
	flags.Var(variableFlag{variable: registry.Variable}, "registry",
		"where your cluster's nodes find images, as `HOST/PATH` ("+registry.Variable+")")
}

// usersCluster is the cluster that the user names; nil: none.
func usersCluster() (*kubernetes.Users, error) {
	users, err := kubernetes.FromEnvironment(os.LookupEnv)
	if err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return users, nil
}

// usersSwarm is the swarm that the user names; nil: none.
func usersSwarm() (*swarmusers.Swarm, error) {
	named, err := swarmusers.FromEnvironment(os.LookupEnv)
	if err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return named, nil
}

// clusterMissing says what this host lacks for a cluster, unless the user names one.
func clusterMissing() error {
	if named, err := usersCluster(); err != nil || named != nil {
		return err
	}
	return kubernetes.Missing()
}

// swarmMissing says what this host lacks for a swarm, unless the user names one.
func swarmMissing() error {
	if named, err := usersSwarm(); err != nil || named != nil {
		return err
	}
	return swarm.Missing()
}

// cleanClusters removes what conductors that are gone have left on the clusters that the user
// names: the one with a label, or all.
func cleanClusters(ctx context.Context, label string) (removed, unclear []string, err error) {
	var all []interface {
		Clean(ctx context.Context, label string) (removed, unclear []string, err error)
	}
	pods, err := usersCluster()
	if pods != nil {
		all = append(all, pods)
	}
	services, failed := usersSwarm()
	if services != nil {
		all = append(all, services)
	}
	err = errors.Join(err, failed)
	for _, one := range all {
		gone, stays, failed := one.Clean(ctx, label)
		removed, unclear, err = append(removed, gone...), append(unclear, stays...), errors.Join(err, failed)
	}
	return removed, unclear, err
}
