package assembly

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/coordination/twophase"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// takePart makes the components of this unit participants of two-phase commits.
func (h *host) takePart() {
	if h.design.Coordination != architecture.TwoPhase {
		return
	}
	takes := map[string]twophase.Take{shop.ComponentInventory: twophase.Inventory(h.Inventory),
		shop.ComponentPayments: twophase.Payments(h.Payments),
		shop.ComponentShipping: twophase.Shipping(h.Shipping)}
	here := twophase.Participant{}
	h.participants = map[string]shoppb.Participant{}
	for _, component := range twophase.Components() {
		if !h.Hosts(component) {
			continue
		}
		here[component] = twophase.Member{DB: h.around.Database(component), Take: takes[component]}
		if len(h.participants) == 0 {
			h.Offer(func(binding grpc.ServiceRegistrar) { shoppb.OfferParticipant(binding, here) })
		}
		// Other units get the participant itself, without spans: it serves all components of this unit.
		h.participants[component], _ = hosting.Followed[shoppb.Participant](h, component, here,
			shoppb.FollowParticipant)
	}
}

// coordinated returns all participants: this unit's, and clients of other units'.
func (h *host) coordinated() map[string]shoppb.Participant {
	for _, component := range twophase.Components() {
		if h.participants[component] == nil {
			h.participants[component] = shoppb.CallParticipant(h.Call(component))
		}
	}
	return h.participants
}

// inDoubt reports whether a transaction is prepared and not ended, in the database of any component.
func (u *Unit) inDoubt(ctx context.Context) (bool, error) {
	if u.design.Coordination != architecture.TwoPhase {
		return false, nil
	}
	for _, component := range twophase.Components() {
		db, err := u.looker(ctx, u.design.DatabaseOf(component))
		if err != nil {
			return false, err
		}
		if names, err := db.Prepared(ctx); err != nil || len(names) > 0 {
			return true, err
		}
	}
	return false, nil
}
