package event

import (
	"context"
	"fmt"
	"time"
)

// keepAlive writes heartbeats of this owner and adopts the rows of dead owners, once per
// pollEvery, until the context ends.
func (r *Relay) keepAlive(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		err := r.outbox.beat(ctx, now)
		if err == nil {
			err = r.countOwners(ctx, now)
		}
		if err == nil {
			var adopted int64
			if adopted, err = r.outbox.adopt(ctx, now); adopted > 0 {
				r.outbox.notify()
			}
		}
		r.logError(err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// countOwners notes whether other owners are alive.
func (r *Relay) countOwners(ctx context.Context, now time.Time) error {
	var alive int64
	_, err := r.outbox.db.One(ctx, []any{&alive}, "SELECT COUNT(*) FROM outbox_relays WHERE alive_until_us >= ?",
		now.UnixMicro())
	if err != nil {
		return fmt.Errorf("count the relays of the outbox: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared = alive > 1
	return nil
}

// beat writes the owner's heartbeat: the owner counts as alive until now + lease.
func (o *Outbox) beat(ctx context.Context, now time.Time) error {
	until := now.Add(lease).UnixMicro()
	return o.db.Do(ctx, func(ctx context.Context) error {
		changed, err := o.db.Exec(ctx, "UPDATE outbox_relays SET alive_until_us = ? WHERE owner = ?", until,
			o.owner)
		if err == nil && changed == 0 {
			_, err = o.db.Exec(ctx, "INSERT INTO outbox_relays (owner, alive_until_us) VALUES (?, ?)"+
				o.db.KeepExisting("owner"), o.owner, until)
		}
		if err != nil {
			return fmt.Errorf("renew the lease of the relay of %s: %w", o.owner, err)
		}
		return nil
	})
}

// orphaned selects the rows of dead owners; its argument is the current time in microseconds.
const orphaned = " WHERE owner NOT IN (SELECT owner FROM outbox_relays WHERE alive_until_us >= ?)"

// adopt makes the rows of dead owners those of this owner and returns their number. If an
// owner is only slow, both may publish a message: it is repeated, not lost.
func (o *Outbox) adopt(ctx context.Context, now time.Time) (int64, error) {
	// There are rarely such rows: the read avoids a write per second.
	var rows int64
	_, err := o.db.One(ctx, []any{&rows}, "SELECT COUNT(*) FROM outbox"+orphaned, now.UnixMicro())
	if err == nil && rows > 0 {
		rows, err = o.db.Exec(ctx, "UPDATE outbox SET owner = ?"+orphaned, o.owner, now.UnixMicro())
	}
	if err != nil {
		return 0, fmt.Errorf("adopt the outbox rows of dead processes: %w", err)
	}
	return rows, nil
}
