package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/cached"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/systems/shop/orders"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/reference"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// AuditLive implements lab.LiveAuditor: it compares the answers to clients with the
// databases.
func (s System) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return loaded.Unknown(err)
	}
	var attempts []attempt
	var unread error
	var reading sync.WaitGroup
	reading.Go(func() { attempts, unread = readAttempts(left.Dir) })
	in, err := gather(ctx, design, p, left)
	reading.Wait()
	load, failed := s.base().Report(left.Reports)
	if err = errors.Join(unread, err, failed); err != nil {
		return loaded.Unknown(err)
	}
	in.History = history(attempts, design.Views)
	return withCompletion(s.base().With(audit.Judge(in), shop.Name, p, load), load, attempts, left)
}

// gather reads the audit's input except the history, which AuditLive reads meanwhile.
func gather(
	ctx context.Context, design architecture.Design, p lab.Point, left lab.Leftover,
) (in audit.Input, err error) {
	databases, err := assembly.OpenDatabases(ctx, design, left.Addresses[assembly.ServiceDatabase])
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, databases.Close()) }()
	if in, err = Recorded(ctx, design, databases); err != nil {
		return in, err
	}
	// The units have ended: an order that is not final now will never be.
	in.Seed = seed(p, left.Seed)
	in.Drained = true
	in.UnixClock = true
	in.Fresh = in.Seed
	in.ClocksApart = left.ClocksApart
	in.Reads = reads(design)
	if in.Left, err = remaining(ctx, design, databases, left); err != nil {
		return in, err
	}
	if in.Replica, err = replica(design, left); err != nil {
		return in, err
	}
	in.Views, err = views(ctx, design, left)
	return in, err
}

// Recorded returns the part of the audit's input that is in the databases of a shop, given by their
// components.
func Recorded(
	ctx context.Context, design architecture.Design, databases map[string]*database.DB,
) (in audit.Input, err error) {
	in.Coordination = audit.Coordination(design.Coordination)
	in.Inboxes = map[string]audit.Inbox{}
	if in.State, err = audit.Read(ctx, databases, design.Reference == architecture.Replicated); err != nil {
		return in, err
	}
	if design.Coordination == architecture.Brokered {
		if in.Sagas, err = audit.ReadSagas(ctx, databases[shop.ComponentOrders]); err != nil {
			return in, err
		}
	}
	for _, queue := range design.Topology().Queues {
		db := databases[queue.Name]
		if db == nil {
			continue // read models have no inbox: their documents carry versions
		}
		if in.Inboxes[queue.Name], err = audit.ReadInbox(ctx, db, queue.Name, queue.Types); err != nil {
			return in, err
		}
	}
	return in, nil
}

// replica returns the times at which the replica got each price; nil if the design has no replica.
func replica(design architecture.Design, left lab.Leftover) (*audit.Replica, error) {
	if design.Reference != architecture.Replicated {
		return nil, nil
	}
	observed, err := observation.Read(left.Dir)
	if err != nil {
		return nil, err
	}
	shown := map[audit.PriceVersion]int64{}
	for change, showing := range observed.Showings {
		if number, is := strings.CutPrefix(change.Document, reference.Products); is {
			product, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("read what the replica has shown: %w", err)
			}
			shown[audit.PriceVersion{Product: product, Version: change.Version}] = showing.Shown
		}
	}
	return &audit.Replica{Shown: shown}, nil
}

// reads returns the source of the prices that clients read; nil: the catalog.
func reads(design architecture.Design) *audit.Reads {
	switch {
	case design.Views == architecture.FromCache:
		return &audit.Reads{Lag: cached.TimeToLive}
	case design.Views == architecture.FromDocuments && design.Reference == architecture.Replicated:
		return &audit.Reads{Replica: true}
	}
	return nil
}

// views returns the documents of a design that has any.
func views(
	ctx context.Context, design architecture.Design, left lab.Leftover,
) (found *audit.Views, err error) {
	if design.Documents == "" {
		return nil, nil
	}
	store, err := assembly.OpenDocuments(ctx, left.Addresses[assembly.ServiceDocuments])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return audit.ReadViews(ctx, store, orderviews.Collection(), stockviews.Collection())
}

// openAll opens the databases of a trial for reading.
func openAll(ctx context.Context, v lab.Variant, left lab.Leftover) (assembly.Databases, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return nil, err
	}
	return assembly.OpenDatabases(ctx, design, left.Addresses[assembly.ServiceDatabase])
}

// remaining counts what must be empty in the end: sagas, events that were not published,
// and messages that were not taken, or became dead letters.
func remaining(
	ctx context.Context, design architecture.Design, databases assembly.Databases, left lab.Leftover,
) (map[string]int64, error) {
	sagas, err := orders.CountUnderway(ctx, databases[shop.ComponentOrders])
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{"sagas": sagas}
	if design.Coordination == architecture.TwoPhase {
		for component, db := range databases {
			names, err := db.Prepared(ctx)
			if err != nil {
				return nil, err
			}
			counts["transactions in doubt of "+component] = int64(len(names))
		}
	}
	if design.Broker == "" {
		return counts, nil
	}
	for component, db := range databases {
		n, err := event.Pending(ctx, db)
		if err != nil {
			return nil, err
		}
		counts["events of "+component+" not published"] = n
	}
	return counts, countMessages(ctx, counts, design, left.Addresses[assembly.ServiceBroker])
}

// countMessages adds the messages that the broker still holds, by queue.
func countMessages(
	ctx context.Context, counts map[string]int64, design architecture.Design, address string,
) (err error) {
	client, err := assembly.OpenBroker(design, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	topology := design.Topology()
	if err := client.Declare(ctx, topology); err != nil {
		return err
	}
	for _, queue := range topology.Queues {
		for _, name := range []string{queue.Name, broker.DeadLetters(queue.Name)} {
			depth, err := client.Depth(ctx, name)
			if err != nil {
				return err
			}
			counts["messages in "+name] = assembly.Waiting(depth)
		}
	}
	return nil
}
