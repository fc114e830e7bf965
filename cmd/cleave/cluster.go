package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
)

// allowVariable names the file with the consent of owners of clusters (docs/consent.md).
const allowVariable = "CLEAVE_ALLOW"

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
	flags.Var(variableFlag{variable: kubernetes.RegistryVariable}, "registry",
		"where your cluster's nodes find images, as `HOST/PATH` ("+kubernetes.RegistryVariable+")")
}

// usersCluster is the cluster that the user names; nil: none.
func usersCluster() (*kubernetes.Users, error) {
	users, err := kubernetes.FromEnvironment(os.LookupEnv)
	if err != nil {
		return nil, withCode(exitBadPlan, "%w", err)
	}
	return users, nil
}

// cleanCluster removes what conductors that are gone have left on the cluster that the user
// names: the one with a label, or all.
func cleanCluster(ctx context.Context, label string) (removed, unclear []string, err error) {
	users, err := usersCluster()
	if users == nil || err != nil {
		return nil, nil, err
	}
	return users.Clean(ctx, label)
}

// admittedDeployers are the deployers, for a plan that has the consent which it needs. It is
// asked for again before every trial.
func admittedDeployers(plan lab.Plan, own, units, label string) (map[string]lab.Deployer, error) {
	ways, err := deployers(own, units, label)
	if err != nil {
		return nil, err
	}
	if pods, is := ways[lab.Kubernetes].(*kubernetes.Deployer); is {
		pods.AskBefore(func(ctx context.Context) error { return admitCluster(ctx, plan) })
	}
	return ways, admitCluster(context.Background(), plan)
}

// admitCluster asks for the consent of the owner of the user's cluster, where the plan puts
// load on it and it is not on this host.
func admitCluster(ctx context.Context, plan lab.Plan) error {
	users, err := usersCluster()
	onIt := slices.ContainsFunc(plan.Study.Variants, func(v lab.Variant) bool { return v.Deployment == lab.Kubernetes })
	if users == nil || err != nil || !onIt {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	guard := clusterGuard(users)
	if path := os.Getenv(allowVariable); path != "" {
		text, err := inputfile.Read(path, consent.MaxList)
		if err == nil {
			guard.Allowed, err = consent.ReadList(strings.NewReader(string(text)), path)
		}
		if err != nil {
			return withCode(exitBadPlan, "%s: %w", allowVariable, err)
		}
	}
	return admitted(ctx, guard, users, plan)
}

// clusterGuard decides about load on the user's cluster, by the list of nobody.
func clusterGuard(users *kubernetes.Users) consent.Guard {
	return consent.Guard{
		Made: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}, Now: time.Now,
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			for i := range found {
				found[i] = found[i].Unmap()
			}
			return found, err
		},
		Fetch: func(ctx context.Context, _ consent.Proof) ([]byte, error) { return users.Proof(ctx) },
	}
}

// admitted asks a guard.
func admitted(ctx context.Context, guard consent.Guard, users *kubernetes.Users, plan lab.Plan) error {
	server, err := url.Parse(users.API.Address())
	if err != nil {
		return withCode(exitBadPlan, "the cluster %s: %w", users.Context, err)
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return withCode(exitBadPlan, "the cluster %s: port %q: %w", users.Context, port, err)
	}
	request := consent.Request{Scheme: "https", Host: server.Hostname(), Port: uint16(number), Rate: highestRate(plan)}
	if load := plan.Study.Load; load != nil {
		request.Duration = time.Duration((load.Duration + load.LongestWarmUp()) * float64(time.Second))
	}
	_, err = guard.Admit(ctx, request)
	var refusal *consent.Refusal
	if errors.As(err, &refusal) {
		return withCode(exitBadPlan, "the cluster %s: %w (the list of those who agree: %s=FILE; on a cluster the token of an entry is proven by %s)",
			users.Context, err, allowVariable, kubernetes.ProofPlace)
	}
	if err != nil {
		return fmt.Errorf("the cluster %s: %w", users.Context, err)
	}
	return nil
}

// highestRate is the highest planned, in operations per second; 0: a point of the plan is
// not bounded by a rate.
func highestRate(plan lab.Plan) float64 {
	const minute = 60
	most := 0.0
	for _, p := range plan.Study.Points {
		rate, paced := p.Level(lab.FactorRate)
		perMinute, byMinute := p.Level(lab.FactorPerMinute)
		if !paced && !byMinute {
			return 0
		}
		most = max(most, rate, perMinute/minute)
	}
	return most
}
