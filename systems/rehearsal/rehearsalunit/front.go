package rehearsalunit

import (
	"context"
	"net/http"
	"strings"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
)

// front returns the interface for clients: PUT /operations/NUMBER calls play for an operation, and GET
// /settled answers when no unit has work in progress. GET /health does the same, which reaches every unit.
func (u *Unit) front(play func(context.Context, *preparedCall) error) http.Handler {
	f := front.New(front.Config{
		Problems: front.Problems{Types: "urn:cleave:rehearsal:", Of: problemOf, LogError: u.logIf},
		Timeout:  requestTimeout, MaxBody: maxMessage, Healthy: u.settled})
	for i, root := range u.design.Roots {
		p := u.calls[root.Number]
		request, answer := len(rehearsal.Body(p.In)), rehearsal.Body(p.Out)
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

// settled returns when no unit has work in progress. It asks every unit to finish its work in the background,
// until no unit has begun a call between two rounds. It does not ask other replicas of the front.
func (u *Unit) settled(ctx context.Context) error {
	for before := int64(-1); ; {
		u.finish()
		begun := u.counts.begun()
		for i, other := range u.parts {
			addresses, err := u.Peer(u.design.Units[i].Name)
			if err != nil {
				return err
			}
			for range strings.Split(addresses, lab.AddressSeparator) { // each call goes to the next replica
				answer, err := other.Settle(ctx, &rehearsalpb.SettleRequest{})
				if err != nil {
					return err
				}
				begun += answer.GetServed()
			}
		}
		if begun == before {
			return nil
		}
		before = begun
	}
}
