package twophase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// mutant is a participant with a fault.
type mutant struct {
	shoppb.Participant
	eager  bool // it commits at once, whatever the decision will be
	deaf   bool // it reports a commit and does not commit
	silent bool // it lists no transactions in doubt
}

func (m mutant) Prepare(ctx context.Context, in *shoppb.PrepareRequest) (*shoppb.StepResponse, error) {
	answer, err := m.Participant.Prepare(ctx, in)
	if m.eager && err == nil {
		return m.Participant.End(ctx, &shoppb.EndRequest{Component: in.GetComponent(),
			Transaction: in.GetTransaction(), Commit: true})
	}
	return answer, err
}

func (m mutant) End(ctx context.Context, in *shoppb.EndRequest) (*shoppb.StepResponse, error) {
	if m.deaf && in.GetCommit() {
		return &shoppb.StepResponse{}, nil
	}
	return m.Participant.End(ctx, in)
}

func (m mutant) InDoubt(ctx context.Context, in *shoppb.InDoubtRequest) (*shoppb.InDoubtResponse, error) {
	if m.silent {
		return &shoppb.InDoubtResponse{}, nil
	}
	return m.Participant.InDoubt(ctx, in)
}

// TestMutantsAreCaught plants one fault each, and expects the audit to find it.
func TestMutantsAreCaught(t *testing.T) {
	testset.Need(t, "it starts database servers")
	for name, c := range map[string]struct {
		mutant  mutant
		problem string
	}{
		"a participant that commits without the decision": {mutant{eager: true}, "its payment is captured"},
		"a decision that is forgotten too early": {mutant{deaf: true},
			"is confirmed and has no reservation"},
		"a transaction that is left in doubt": {mutant{deaf: true, silent: true},
			"transactions in doubt of inventory are left"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, database.MariaDB)
			w.mutate = func(p shoppb.Participant) shoppb.Participant {
				c.mutant.Participant = p
				return c.mutant
			}
			w.join()
			// The first order asks for more than is in stock and is rejected.
			for n, quantity := range []int64{2 * seed().Stock, 1} {
				order, err := w.place(fmt.Sprintf("key-%d", n), quantity)
				testset.Must(t, err)
				if want := shop.StateConfirmed; quantity == 1 && order.GetState() != string(want) {
					t.Errorf("the order is %s, want %s", order.GetState(), want)
				}
			}
			w.restart(t)
			verdict, problems := w.judge(t)
			named := slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.problem) })
			if verdict != "invalid" || !named {
				t.Errorf("%s: %q, want a problem that says %q", verdict, problems, c.problem)
			}
		})
	}
}
