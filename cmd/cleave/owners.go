package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/scenario"
)

// allowVariable is the environment variable with the path of the consent list of owners of clusters and hosts
// (docs/consent.md).
const allowVariable = "CLEAVE_ALLOW"

// owned is a cluster or a host of the user that would get load.
type owned struct {
	name    string
	targets []string                                  // URLs that need consent
	proof   func(ctx context.Context) ([]byte, error) // reads the proof, which contains the token
	place   string                                    // describes where the owner puts the proof
}

// askConsent checks the consent that a plan needs, and makes the deployers check it again before every trial.
func askConsent(ctx context.Context, plan lab.Plan, deployers map[string]lab.Deployer) error {
	for _, deployer := range deployers {
		if checked, is := deployer.(interface {
			AskBefore(admit func(context.Context) error)
		}); is {
			checked.AskBefore(func(ctx context.Context) error { return admit(ctx, plan, deployer.Name()) })
		}
	}
	return admit(ctx, plan, ownedDeployments()...)
}

// ownedDeployments returns the deployments that can be on clusters or hosts of others.
func ownedDeployments() []string { return []string{lab.Kubernetes, lab.Swarm, lab.SSH} }

// admit checks the consent of the owners of the user's clusters and hosts, if the plan puts load
// on them with one of these deployments. This host needs none.
func admit(ctx context.Context, plan lab.Plan, deployments ...string) error {
	for _, deployment := range deployments {
		if !anyDeployed(plan.Study.Variants, deployment) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, serverPatience)
		all, err := ownedBy(limited, deployment)
		cancel()
		if err != nil {
			return err
		}
		for _, o := range all {
			guard, err := o.guard()
			if err != nil {
				return err
			}
			if err := o.checkConsent(ctx, guard, plan); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseWithoutConsent replaces the deployers of clusters and hosts whose owners have not consented to the
// load of a plan: their Preflight returns the refusal. The plan can be examined then without contacting them.
func refuseWithoutConsent(ctx context.Context, plan lab.Plan, deployers map[string]lab.Deployer) error {
	for _, deployment := range ownedDeployments() {
		err := admit(ctx, plan, deployment)
		if _, refused := errors.AsType[*consent.Refusal](err); refused {
			deployers[deployment] = refusedDeployer{deployers[deployment], err}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// refusedDeployer is the deployer of clusters or hosts whose owners refuse the load of a plan.
type refusedDeployer struct {
	lab.Deployer
	refusal error
}

// Preflight implements lab.Deployer.
func (r refusedDeployer) Preflight(context.Context, lab.Layout) error { return r.refusal }

// ownedBy returns the clusters or hosts that the user names for a deployment by Kubernetes, Swarm or SSH. A
// private cluster needs no consent: then there are none.
func ownedBy(ctx context.Context, deployment string) ([]owned, error) {
	switch deployment {
	case lab.Kubernetes:
		named, err := usersCluster()
		if named == nil || err != nil {
			return nil, err
		}
		return []owned{ownedCluster(named)}, nil
	case lab.Swarm:
		named, err := usersSwarm()
		if named == nil || err != nil {
			return nil, err
		}
		return ownedSwarm(ctx, named)
	}
	names, err := usersHosts() // the only other deployment on hosts of others is by SSH
	var all []owned
	for _, name := range names {
		host, port, err := ssh.Target(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, owned{name: "the host " + name, place: ssh.ProofPlace,
			targets: []string{"ssh://" + net.JoinHostPort(host, strconv.Itoa(int(port)))},
			proof:   func(ctx context.Context) ([]byte, error) { return ssh.Proof(ctx, name) }})
	}
	return all, err
}

// ownedCluster returns the user's Kubernetes cluster, with its API server as the target.
func ownedCluster(named *kubernetes.UserCluster) owned {
	return owned{name: "the cluster " + named.Context, targets: []string{named.API.Address()},
		proof: named.Proof, place: kubernetes.ProofPlace}
}

// swarmPort is the port of a swarm's managers for other nodes. Consent for a node names this port.
const swarmPort = "2377"

// ownedSwarm returns the user's swarm, with its nodes other than this host as targets.
func ownedSwarm(ctx context.Context, named *swarm.UserSwarm) ([]owned, error) {
	cluster := owned{name: "the swarm " + named.Name, proof: named.Proof, place: swarm.ProofPlace}
	addresses, err := named.Addresses(ctx)
	if err != nil {
		return nil, withCode(exitMissingPart, "%w", err)
	}
	local, err := net.InterfaceAddrs()
	for _, address := range addresses {
		if !slices.ContainsFunc(local, func(own net.Addr) bool {
			return strings.HasPrefix(own.String(), address+"/")
		}) {
			cluster.targets = append(cluster.targets, "https://"+net.JoinHostPort(address, swarmPort))
		}
	}
	return []owned{cluster}, err
}

// guard returns a guard that decides by the user's consent list. Without a list it allows only the
// addresses of hosts and clusters that Cleave makes.
func (o owned) guard() (consent.Guard, error) {
	guard := consent.Guard{
		// The addresses of the hosts and clusters that Cleave makes (RFC 2544).
		Made: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}, Now: time.Now,
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			for i := range found {
				found[i] = found[i].Unmap()
			}
			return found, err
		},
		Fetch: func(ctx context.Context, _ consent.Proof) ([]byte, error) { return o.proof(ctx) },
	}
	path := os.Getenv(allowVariable)
	if path == "" {
		return guard, nil
	}
	text, err := inputfile.Read(path, consent.MaxList)
	if err == nil {
		guard.Allowed, err = consent.ReadList(strings.NewReader(string(text)), path)
	}
	if err != nil {
		return guard, withCode(exitBadPlan, "%s: %w", allowVariable, err)
	}
	return guard, nil
}

// checkConsent returns an error if the guard does not allow the load of a plan on one of the targets.
func (o owned) checkConsent(ctx context.Context, guard consent.Guard, plan lab.Plan) error {
	for _, target := range o.targets {
		server, err := url.Parse(target)
		if err != nil {
			return withCode(exitBadPlan, "%s: %w", o.name, err)
		}
		port := server.Port()
		if port == "" {
			port = "443" // of the API server of a Kubernetes cluster
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return withCode(exitBadPlan, "%s: port %q: %w", o.name, port, err)
		}
		request := consent.Request{Scheme: server.Scheme, Host: server.Hostname(), Port: uint16(number),
			Rate: highestRate(plan)}
		if load := plan.Study.Load; load != nil {
			request.Rate *= longestFlow(load.Scenario)
			length := (load.Duration + load.LongestWarmUp()) * max(1, plan.Study.Design.Lengthen)
			request.Duration = lab.Seconds(length)
		}
		limited, cancel := context.WithTimeout(ctx, serverPatience) // each of many hosts may be slow
		_, err = guard.Admit(limited, request)
		cancel()
		if _, refused := errors.AsType[*consent.Refusal](err); refused {
			return withCode(exitBadPlan,
				"%s: %w (%s=FILE names the list of consents; the owner proves the token of an entry by %s)",
				o.name, err, allowVariable, o.place)
		}
		if err != nil {
			return withCode(exitBadPlan, "%s: %w", o.name, err)
		}
	}
	return nil
}

// highestRate returns the highest rate of a plan, in flows per second; 0: the rate of a point is not limited.
func highestRate(plan lab.Plan) float64 {
	most := 0.0
	for _, p := range plan.Study.Points {
		rate, paced := p.Rate()
		if !paced {
			return 0
		}
		most = max(most, rate)
	}
	return most
}

// longestFlow returns the number of operations of the longest flow of a scenario; 1 without a scenario.
func longestFlow(text []byte) float64 {
	var file scenario.File
	_ = json.Unmarshal(text, &file) // the generator refuses a scenario that cannot be read
	return float64(max(1, file.LongestFlow()))
}
