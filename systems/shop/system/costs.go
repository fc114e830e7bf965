package system

import (
	"context"
	"errors"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// addCosts adds the costs of a completed order. Metered usage is divided by the orders that
// became final since the metered window began; the units' own counts, which begin with
// the units, by all orders of the trial.
func (t *tally) addCosts(
	ctx context.Context, v lab.Variant, values map[string]float64, metered lab.Metered, left lab.Leftover,
) error {
	loaded.AddCost(values, metered, int64(t.since))
	units, err := hosting.Reports[assembly.Report](left.Reports)
	if err != nil {
		return err
	}
	if err := hosting.AddAmplification(values, left.Reports); err != nil {
		return err
	}
	if t.since == 0 || len(left.Faults) > 0 {
		return nil // the report of a killed unit covers only the time since its restart
	}
	counts := unitCounts{totals: map[string]float64{}}
	for _, report := range units {
		counts.add(report)
	}
	if err := counts.addSyncs(ctx, v, left); err != nil {
		return err
	}
	for name, total := range counts.totals {
		values[name] = total / float64(t.all)
	}
	return nil
}

// unitCounts holds the sums of the units' counts. A metric that no unit counts is absent.
type unitCounts struct {
	totals map[string]float64 // by metric
	// syncsBefore is the number of fsyncs of the database server when the first unit with the orders was
	// started; nil: the server does not count them.
	syncsBefore *int64
}

// add adds the report of one unit.
func (u *unitCounts) add(report assembly.Report) {
	for _, c := range report.Databases {
		u.totals["statements_per_order"] += float64(c.Statements)
		u.totals["rows_per_order"] += float64(c.RowsRead + c.RowsChanged)
		u.totals["commits_per_order"] += float64(c.Writes)
	}
	if m := report.Messages; m != nil {
		u.totals["messages_per_order"] += float64(m.Published)
		u.totals["deliveries_per_order"] += float64(m.Delivered)
		u.totals["bytes_per_order"] += float64(m.Bytes)
	}
	u.totals["bytes_per_order"] += float64(report.CallBytes)
	before := report.SyncsBefore
	if before == nil {
		return
	}
	if u.syncsBefore == nil || *before < *u.syncsBefore {
		u.syncsBefore = before
	}
}

// addSyncs adds the fsyncs of the database server since syncsBefore. It asks in the database of the orders:
// one server has all databases, and counts for all. It is called when the units have ended: PostgreSQL counts
// the work of a session at its end.
func (u *unitCounts) addSyncs(ctx context.Context, v lab.Variant, left lab.Leftover) (err error) {
	if u.syncsBefore == nil {
		return nil
	}
	databases, err := openAll(ctx, v, left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, databases.Close()) }()
	syncs, known, err := databases[shop.ComponentOrders].Syncs(ctx)
	if known {
		u.totals["syncs_per_order"] = float64(syncs - *u.syncsBefore)
	}
	return err
}
