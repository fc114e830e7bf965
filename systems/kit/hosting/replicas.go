package hosting

import "github.com/cleave-lab/cleave/binding/rpc"

// Replica is a client of one replica of a unit.
type Replica struct {
	rpc.Client
	Standby bool // the platform may not have started the replica
}

// Replicas returns a client of each replica of a unit, for questions that each has to answer. Unit.Close
// closes the clients. The replica at the address except is left out: a unit need not ask itself.
func (u *Unit) Replicas(name, except string) (all []Replica, err error) {
	addresses, err := u.Peer(name)
	if err != nil {
		return nil, err
	}
	for address, standby := range rpc.Replicas(addresses) {
		if address == except {
			continue
		}
		client, err := u.Calls.NewClient(name, address)
		if err != nil {
			return nil, err
		}
		u.Keep(client)
		all = append(all, Replica{client, standby})
	}
	return all, nil
}
