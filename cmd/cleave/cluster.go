package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/lab"
)

// fromEnvironment returns what a function reads from the environment, with exitBadPlan for its error. The
// flags --context, --kubeconfig, --swarm and --hosts set the same variables (variableFlag).
func fromEnvironment[T any](read func(lookup func(string) (string, bool)) (T, error)) (T, error) {
	named, err := read(os.LookupEnv)
	return named, badPlan(err)
}

// usersCluster returns the Kubernetes cluster that the user names, or nil.
func usersCluster() (*kubernetes.UserCluster, error) {
	return fromEnvironment(kubernetes.FromEnvironment)
}

// usersSwarm returns the swarm that the user names, or nil.
func usersSwarm() (*swarm.UserSwarm, error) { return fromEnvironment(swarm.FromEnvironment) }

// usersHosts returns the hosts that the user names.
func usersHosts() ([]string, error) { return fromEnvironment(ssh.Named) }

// runsOnUsersHosts reports whether a deployment runs units on clusters or hosts that the user names. Mistakes
// in their names are no concern here: they end the command elsewhere.
func runsOnUsersHosts(deployment string) bool {
	switch deployment {
	case lab.Kubernetes:
		named, _ := usersCluster()
		return named != nil
	case lab.Swarm:
		named, _ := usersSwarm()
		return named != nil
	}
	return deployment == lab.SSH
}

// checkClusters returns an error for flags that have no effect, because no variant is deployed on the named
// clusters or hosts.
func checkClusters(flags *pflag.FlagSet, variants []lab.Variant) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		deployments := map[string][]string{"context": {lab.Kubernetes}, "kubeconfig": {lab.Kubernetes},
			"swarm": {lab.Swarm}, "hosts": {lab.SSH}, "registry": {lab.Kubernetes, lab.Swarm}}[f.Name]
		if len(deployments) > 0 && !anyDeployed(variants, deployments...) {
			err = errors.Join(err, withCode(exitBadPlan, "--%s does nothing here, since no variant runs there: add "+
				"--deploy %s, or leave it out", f.Name, strings.Join(deployments, " or --deploy ")))
		}
	})
	return err
}

// anyDeployed reports whether a variant has one of the deployments.
func anyDeployed(variants []lab.Variant, deployments ...string) bool {
	return slices.ContainsFunc(variants, func(v lab.Variant) bool {
		return slices.Contains(deployments, v.Deployment)
	})
}

// privateMissing returns an error that names what this host lacks for a private cluster or swarm, one that
// Cleave starts and removes. Nothing is needed if the user names one.
func privateMissing[T any](users func() (*T, error), missing func() error) error {
	if named, err := users(); err != nil || named != nil {
		return err
	}
	return missing()
}

// hostAgent returns the path of the program that runs units on hosts. It is in the same folder as the program
// own.
func hostAgent(own string) string { return filepath.Join(filepath.Dir(own), "host-agent") }

// cleanHosts removes what dead conductors have left on the hosts that the user names, and returns what it
// removed. The agents that do so on the hosts run under the label of this cleave.
func cleanHosts(ctx context.Context) ([]string, error) {
	names, err := usersHosts()
	if len(names) == 0 || err != nil {
		return nil, err
	}
	own, _, err := programs()
	if err == nil {
		err = missingPrograms()
	}
	if err != nil {
		return nil, err
	}
	label, err := launch.Own()
	if err != nil {
		return nil, err
	}
	return ssh.Clean(ctx, hostAgent(own), label.String(), names)
}

// cleanClusters removes the leftovers of dead conductors on the clusters that the user names: all, or only
// those with a label. It keeps what belongs to conductors of which this host cannot tell whether they are
// dead, and returns it as unclear.
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
		removed = append(removed, gone...)
		unclear = append(unclear, stays...)
		err = errors.Join(err, failed)
	}
	return removed, unclear, err
}
