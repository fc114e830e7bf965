package rehearsalunit

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
)

// front returns the interface for clients: PUT /operations/NUMBER calls play for an operation. GET /settled
// and GET /health answer when no unit has work in progress, and fail if one cannot be reached.
func (u *Unit) front(play func(context.Context, *preparedCall) error) http.Handler {
	f := front.New(front.Config{
		Problems: front.Problems{Types: "urn:cleave:rehearsal:", Of: problemOf, LogError: u.logIf},
		Timeout:  requestTimeout, MaxBody: maxMessage, Healthy: u.settled})
	for i, root := range u.design.Roots {
		p := u.calls[root.Number]
		request := len(rehearsal.Body(p.In))
		answer := rehearsal.Body(p.Out)
		f.Handle("PUT "+rehearsal.Path(i), func(ctx context.Context, r *http.Request) (front.Answer, error) {
			text, err := front.ReadBody(r)
			if err != nil {
				return front.Answer{}, err
			}
			if len(text) != request {
				return front.Answer{}, rpc.Problemf(rpc.InvalidArgument, "the body has %d bytes, the model says %d",
					len(text), request)
			}
			return front.JSON(http.StatusOK, answer), play(ctx, p)
		})
	}
	f.Handle("GET "+rehearsal.SettledPath, func(ctx context.Context, _ *http.Request) (front.Answer, error) {
		return front.JSON(http.StatusOK, []byte("{}")), u.settled(ctx)
	})
	return f
}

// replica is a replica of a unit, as the front asks it.
type replica struct {
	rehearsalpb.Part
	unit    int  // its index in the design
	standby bool // the platform may not have started it
}

// connectReplicas connects the front to each other replica of every unit. name is that of this replica.
func (u *Unit) connectReplicas(name string) error {
	own, err := u.Peer(name)
	if err != nil {
		return err
	}
	// The name of the first replica is also that of the unit, whose addresses begin with that of the first.
	own, _, _ = strings.Cut(own, lab.AddressSeparator)
	for i, unit := range u.design.Units {
		replicas, err := u.Replicas(unit.Name, own) // not every network leads back to the caller
		if err != nil {
			return err
		}
		for _, r := range replicas {
			u.replicas = append(u.replicas, replica{rehearsalpb.CallPart(r), i, r.Standby})
		}
	}
	return nil
}

// isReplicated reports whether the front has other replicas.
func (u *Unit) isReplicated() bool {
	return slices.ContainsFunc(u.replicas, func(r replica) bool { return r.unit == u.index })
}

// settled returns when no unit has work in progress. It asks each other replica of every unit to finish its
// work in the background, until none has served a call between two rounds.
func (u *Unit) settled(ctx context.Context) error {
	for before := int64(-1); ; {
		u.finish()
		served := u.counts.served()
		for _, r := range u.replicas {
			answer, err := r.Settle(ctx, &rehearsalpb.SettleRequest{})
			if err == nil {
				served += answer.GetServed()
				continue
			}
			mayBeAbsent := r.standby && problemOf(err).Kind == rpc.Unavailable
			if !mayBeAbsent {
				return err
			}
		}
		if served == before {
			return nil
		}
		before = served
	}
}
