package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/relay"
)

// network is the simulated network between the generator and the system; see lab.Network.
type network struct {
	relays []*relay.Relay
	proof  string // the measured duration of a probe
}

// simulate puts the network that the environment asks for in front of each address of a unit, and returns the
// addresses to dial: the unit's own if the environment asks for none. Each address gets an equal share of the
// rate, since connections are spread evenly.
func (n *network) simulate(ctx context.Context, unit string, addresses []string) ([]string, error) {
	text := os.Getenv(lab.NetworkVariable)
	if text == "" {
		return addresses, nil
	}
	var simulated lab.Network
	if err := json.Unmarshal([]byte(text), &simulated); err != nil {
		return nil, fmt.Errorf("%s is %q: %w", lab.NetworkVariable, text, err)
	}
	slow := lab.Fault{Kind: lab.FaultSlow, Delay: simulated.Delay,
		Rate: simulated.Rate / float64(len(addresses))}
	var dialed []string
	for _, address := range addresses {
		made, err := relay.Listen("127.0.0.1", unit, address)
		if err != nil {
			return nil, err
		}
		n.relays = append(n.relays, made)
		dialed = append(dialed, made.Address())
		if n.proof, err = made.Slow(ctx, slow); err != nil {
			return nil, err
		}
	}
	return dialed, nil
}

// close ends the relays.
func (n *network) close() error {
	var problems []error
	for _, relay := range n.relays {
		problems = append(problems, relay.Close())
	}
	return errors.Join(problems...)
}
