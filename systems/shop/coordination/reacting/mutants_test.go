package reacting_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/coordination/reacting"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// TestMutantsAreCaught plants one fault each into the components, and logs after how many orders the audit
// finds it. Events come in random order.
func TestMutantsAreCaught(t *testing.T) {
	for name, plant := range map[string]func(*parts){
		"a released reservation may come again": func(p *parts) { p.stock = forgetsReleases{p.stock} },
		"a declined payment may come again":     func(p *parts) { p.payments = forgetsVoids{p.payments} },
		"the refund is skipped":                 func(p *parts) { p.payments = skipsRefunds{p.payments} },
		"nothing is recalled":                   func(p *parts) { p.shipping = recallsNothing{p.shipping} },
		"the sale is not booked":                func(p *parts) { p.stock = commitsNothing{p.stock} },
		"a change of a price is not applied":    func(p *parts) { p.keep = losesChanges(p.keep) },
		"what comes last is the price":          func(p *parts) { p.applyAll("version = ?") },
		"a change of a price is applied twice":  func(p *parts) { p.applyAll("version = version + MIN(1, ?)") },
	} {
		t.Run(name, func(t *testing.T) { expectCaught(t, withEvents(), plant) })
	}
}

// TestMutantsOfCommandsAreCaught: the orders ignore a reply; another component does not do what it replies
// that it did, or does it again with each repetition.
func TestMutantsOfCommandsAreCaught(t *testing.T) {
	for name, plant := range map[string]func(*parts){
		"the sale is not booked":                   func(p *parts) { p.stock = commitsNothing{p.stock} },
		"a payment is captured again":              func(p *parts) { p.payments = chargesAgain{p.payments, p.db} },
		"nothing is recalled":                      func(p *parts) { p.shipping = recallsNothing{p.shipping} },
		"the orders do not wait for their payment": func(p *parts) { p.hurries = true },
		"the first reply is ignored":               func(p *parts) { p.ignores = events.StockReserved },
		"a compensation's reply is ignored":        func(p *parts) { p.ignores = events.StockReleased },
		"the last reply is ignored":                func(p *parts) { p.ignores = events.PaymentRefunded },
	} {
		t.Run(name, func(t *testing.T) { expectCaught(t, withCommands(), plant) })
	}
}

// expectCaught plays until the audit has noticed a fault.
func expectCaught(t *testing.T, as way, plant func(*parts)) {
	t.Helper()
	for round := range uint64(12) {
		b := newBench(t, as, plant)
		b.play(t, rand.New(rand.NewPCG(round, 1)), 60)
		if got := b.judge(t); got.Verdict == lab.AuditInvalid {
			t.Logf("caught within %d orders: %s", 60*(round+1), got.Problems[0])
			return
		}
	}
	t.Error("not caught")
}

// withFaults returns the reactions of the orders with their faults.
func (p *parts) withFaults(b *bus, handle reacting.Handler) reacting.Handler {
	return func(ctx context.Context, messages []broker.Message) error {
		var kept []broker.Message
		for _, m := range messages {
			if m.Type != p.ignores {
				kept = append(kept, m)
			}
			e, err := events.Decode(m)
			if reserved, is := e.(*shoppb.StockReserved); err == nil && is && p.hurries {
				err = reacting.Publish(ctx, b, &shoppb.ShipOrder{Order: reserved.GetOrder(),
					Recipient: reserved.GetRecipient(), Address: reserved.GetAddress()})
			}
			if err != nil {
				return err
			}
		}
		return handle(ctx, kept)
	}
}

// chargesAgain takes the amount once more when it is asked again.
type chargesAgain struct {
	coordination.Payments
	db *database.DB
}

func (m chargesAgain) ChargeAll(ctx context.Context, all []*shoppb.ChargeRequest) ([]steps.Outcome, error) {
	outcomes, err := m.Payments.ChargeAll(ctx, all)
	for i, outcome := range outcomes {
		if err == nil && outcome.Err == nil && outcome.Repeat {
			_, err = m.db.Exec(ctx, "UPDATE accounts SET balance_cents = balance_cents - ? WHERE customer_id = ? AND "+
				"balance_cents >= ?", all[i].GetAmountCents(), all[i].GetCustomerId(), all[i].GetAmountCents())
		}
	}
	return outcomes, err
}

type forgetsReleases struct{ reacting.Stock }

func (m forgetsReleases) Release(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

func (m forgetsReleases) ReleaseAll(_ context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return make([]steps.Outcome, len(all)), nil
}

type forgetsVoids struct{ coordination.Payments }

func (m forgetsVoids) Void(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

func (m forgetsVoids) VoidAll(_ context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return make([]steps.Outcome, len(all)), nil
}

type skipsRefunds struct{ coordination.Payments }

func (m skipsRefunds) Refund(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

type recallsNothing struct{ coordination.Shipping }

func (m recallsNothing) Recall(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

type commitsNothing struct{ reacting.Stock }

func (m commitsNothing) Commit(context.Context, *shoppb.StepRequest) (*shoppb.StepResponse, error) {
	return &shoppb.StepResponse{}, nil
}

func (m commitsNothing) CommitAll(_ context.Context, all []*shoppb.StepRequest) ([]steps.Outcome, error) {
	return make([]steps.Outcome, len(all)), nil
}
