// Package reacting holds what both kinds of sagas over a broker need: how a component reacts to
// messages, and how the orders take a new order and answer that it is pending. Each reaction is one
// local transaction: the component's step, the events that it publishes (the outbox) and the note of
// the message (the inbox). Messages may come late, twice and in any order: the component refuses a
// step that comes too late, and the reaction then does nothing. A refusal by the rules of the shop is
// made final in the component, so that a repetition of the message gets the same answer. With dual
// writes instead of the outbox, events are not part of the transaction and may be lost.
//
// It knows no message of a saga by name; packages choreographed and brokered do.
//
// Entry points: Handle for reactions, made by About, Single and Step; NewCoordinator for new orders.
package reacting

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/coordination"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// Sender publishes events with the transaction that the context carries: an outbox, or
// dual writes.
type Sender interface {
	Add(ctx context.Context, messages ...broker.Message) error
}

// Publish publishes events. It skips nil ones.
func Publish(ctx context.Context, sender Sender, all ...events.Event) error {
	messages := make([]broker.Message, 0, len(all))
	now := time.Now()
	for _, e := range all {
		if e == nil {
			continue
		}
		m, err := events.Encode(e, now)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	return sender.Add(ctx, messages...)
}

// decode reads all messages.
func decode(messages []broker.Message) ([]events.Event, error) {
	all := make([]events.Event, len(messages))
	for i, m := range messages {
		var err error
		if all[i], err = events.Decode(m); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Reaction is the reaction of a component to events of one type. It returns the events that
// follow; nil ones are skipped.
type Reaction struct {
	takes func(e events.Event) bool
	to    func(ctx context.Context, s Scope, group []events.Event) (published []events.Event, err error)
}

// About makes a reaction to events of type E.
func About[E events.Event](
	to func(ctx context.Context, s Scope, group []E) ([]events.Event, error),
) Reaction {
	return Reaction{
		takes: func(e events.Event) bool {
			_, is := e.(E)
			return is
		},
		to: func(ctx context.Context, s Scope, group []events.Event) ([]events.Event, error) {
			typed := make([]E, len(group))
			for i, e := range group {
				typed[i] = e.(E) // takes has checked it
			}
			return to(ctx, s, typed)
		},
	}
}

// Single makes a reaction to events of type E one by one, for rare events.
func Single[E events.Event](to func(ctx context.Context, s Scope, e E) (events.Event, error)) Reaction {
	return About(func(ctx context.Context, s Scope, group []E) ([]events.Event, error) {
		published := make([]events.Event, len(group))
		for i, e := range group {
			var err error
			if published[i], err = to(ctx, s, e); err != nil {
				return nil, err
			}
		}
		return published, nil
	})
}

// Step is a reaction to events of type E that takes one step for all of them.
type Step[E events.OfOrder, Q any] struct {
	Take steps.Step[Q]
	// Asks returns the request for the step.
	Asks func(e E) Q
	// Done returns the event that follows if the step was taken, now or before; nil: no
	// event does. None follows if the step came too late.
	Done func(e E) events.Event
	// Refused returns the event that follows if the rules of the shop refuse the step.
	// Forbid then makes that final, so that a repetition gets the same answer.
	Refused func(e E, why *shoppb.Rejection) events.Event
	Forbid  steps.Step[*shoppb.StepRequest]
}

// Reaction returns the step as a Reaction.
func (r Step[E, Q]) Reaction() Reaction {
	return About(func(ctx context.Context, s Scope, group []E) (published []events.Event, err error) {
		asked := make([]Q, len(group))
		for i, e := range group {
			asked[i] = r.Asks(e)
		}
		outcomes, err := s.ask(ctx, len(group),
			func(ctx context.Context) ([]steps.Outcome, error) { return r.Take(ctx, asked) })
		if err != nil {
			return nil, err
		}
		var forbidden []*shoppb.StepRequest
		for i, e := range group {
			why, refused := shop.Rejects(outcomes[i].Err)
			switch {
			case refused && r.Refused == nil:
				return nil, rpc.Problemf(rpc.Internal, "a step that cannot be refused was: %s: %s", why.GetKind(),
					why.GetDetail())
			case refused:
				published = append(published, r.Refused(e, why))
				forbidden = append(forbidden, coordination.Step(e.GetOrder()))
			case outcomes[i].Err == nil && r.Done != nil:
				published = append(published, r.Done(e))
			}
		}
		if len(forbidden) == 0 {
			return published, nil
		}
		outcomes, err = r.Forbid(ctx, forbidden)
		for _, outcome := range outcomes {
			err = errors.Join(err, outcome.Err)
		}
		return published, err
	})
}

// Handler takes the messages of one transaction.
type Handler = func(ctx context.Context, messages []broker.Message) error

// Handle joins reactions with the sender of their events. also, if there is one, gets
// the events after the reactions to them, and returns more events to publish.
func Handle(
	db *database.DB, sender Sender,
	also func(ctx context.Context, handled []events.Event) ([]events.Event, error), all ...Reaction,
) Handler {
	r := &reactions{db: db, all: all}
	return func(ctx context.Context, messages []broker.Message) error {
		decoded, err := decode(messages)
		if err != nil {
			return err
		}
		published, err := r.react(ctx, decoded)
		if err != nil {
			return err
		}
		if also != nil {
			more, err := also(ctx, decoded)
			if err != nil {
				return err
			}
			published = append(published, more...)
		}
		return Publish(ctx, sender, published...)
	}
}

// reactions holds all reactions of a component.
type reactions struct {
	db     *database.DB
	all    []Reaction
	lately caution
}

// react reacts to the events of one transaction, type after type. That may change their
// order, which no step minds.
func (r *reactions) react(ctx context.Context, left []events.Event) (published []events.Event, err error) {
	s := Scope{db: r.db, caution: &r.lately, careful: r.lately.spend()}
	for _, reaction := range r.all {
		var group, others []events.Event
		for _, e := range left {
			if reaction.takes(e) {
				group = append(group, e)
			} else {
				others = append(others, e)
			}
		}
		left = others
		if len(group) == 0 {
			continue
		}
		next, err := reaction.to(ctx, s, group)
		if err != nil {
			return nil, err
		}
		published = append(published, next...)
	}
	if len(left) > 0 { // the topology is wrong
		return nil, rpc.Problemf(rpc.Internal, "event %s is not for this component",
			left[0].GetHappening().GetEventId())
	}
	return published, nil
}

// caution decides whether steps of single orders get a savepoint. A refused step undoes
// its transaction, unless it has a savepoint, which takes two more round trips to the
// database. They are made only if a step was refused lately; the first refusal costs a
// second attempt of its transaction.
type caution struct{ left atomic.Int64 }

// cautious is the number of transactions that are careful after a refusal.
const cautious = 64

// spend reports whether the next transaction is to be careful, and counts it.
func (c *caution) spend() bool { return c.left.Load() > 0 && c.left.Add(-1) >= 0 }

// Scope is the transaction in which components take their steps.
type Scope struct {
	db      *database.DB
	caution *caution
	careful bool // a refused step is undone alone, by a savepoint
}

// ask takes a step for a number of orders. The errors of its outcomes are refusals by the
// rules of the shop, or Conflicts of steps that came too late; ask returns other errors.
func (s Scope) ask(
	ctx context.Context, orders int, step func(ctx context.Context) ([]steps.Outcome, error),
) (outcomes []steps.Outcome, err error) {
	if orders > 1 || !s.careful {
		outcomes, err = step(ctx)
	} else {
		refused := errors.New("undone")
		err = s.db.Try(ctx, func(ctx context.Context) error {
			if outcomes, err = step(ctx); err == nil && outcomes[0].Err != nil {
				return refused
			}
			return err
		})
		if errors.Is(err, refused) {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, outcome := range outcomes {
		if outcome.Err == nil || shop.IsKind(outcome.Err, shop.Conflict) {
			continue
		}
		if _, refused := shop.Rejects(outcome.Err); !refused {
			return nil, outcome.Err
		}
	}
	if orders == 1 && outcomes[0].Err != nil {
		s.caution.left.Store(cautious)
		if !s.careful {
			return nil, fmt.Errorf("%w: %w", event.ErrAgain, outcomes[0].Err)
		}
	}
	return outcomes, nil
}

// Take takes steps for an order that no rule of the shop refuses. It reports false if they
// came too late.
func (s Scope) Take(
	ctx context.Context, order *shoppb.Order, all ...steps.Ask[*shoppb.StepRequest],
) (bool, error) {
	outcomes, err := s.ask(ctx, 1, func(ctx context.Context) ([]steps.Outcome, error) {
		for _, step := range all {
			if _, err := step(ctx, coordination.Step(order)); err != nil {
				return []steps.Outcome{{Err: err}}, nil
			}
		}
		return []steps.Outcome{{}}, nil
	})
	if err != nil {
		return false, err
	}
	if why, refused := shop.Rejects(outcomes[0].Err); refused {
		return false, rpc.Problemf(rpc.Internal, "a step that cannot be refused was: %s: %s", why.GetKind(),
			why.GetDetail())
	}
	return outcomes[0].Err == nil, nil
}
