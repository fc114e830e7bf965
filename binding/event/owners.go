package event

import (
	"context"
	"fmt"
	"time"
)

// keepAlive sends heartbeats for this owner and adopts the messages of dead owners,
// until the context ends.
func (r *Relay) keepAlive(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		err := r.outbox.beat(ctx, now)
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
			return fmt.Errorf("say that the relay of %s lives: %w", o.owner, err)
		}
		return nil
	})
}

// orphaned selects the rows of dead owners; its argument is the current time in microseconds.
const orphaned = " WHERE owner NOT IN (SELECT owner FROM outbox_relays WHERE alive_until_us >= ?)"

// adopt takes over the rows of dead owners and returns their number. If an owner is
// only slow, it may publish some of them, too: they are repeated, not lost.
func (o *Outbox) adopt(ctx context.Context, now time.Time) (int64, error) {
	var waiting int64
	_, err := o.db.One(ctx, []any{&waiting}, "SELECT COUNT(*) FROM outbox"+orphaned, now.UnixMicro())
	if err == nil && waiting > 0 {
		waiting, err = o.db.Exec(ctx, "UPDATE outbox SET owner = ?"+orphaned, o.owner, now.UnixMicro())
	}
	if err != nil {
		return 0, fmt.Errorf("take over what dead processes left in the outbox: %w", err)
	}
	return waiting, nil
}
