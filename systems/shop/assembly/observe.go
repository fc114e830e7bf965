package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/unit"
)

// observe opens the unit's observations if it hosts the orders or a read model. The
// unit with the orders also notes the number of fsyncs of the database server until
// now; all units have the same server.
func (u *Unit) observe(ctx context.Context) (err error) {
	if !u.kind.Hosts(shop.ComponentOrders, shop.ComponentOrderViews, shop.ComponentStockViews) {
		return nil
	}
	if u.observed, err = observation.Open(u.place.Dir, u.Name); err != nil {
		return err
	}
	u.Keep(u.observed)
	u.around.Final = u.observed.Final
	u.around.Shown = u.observed.Shown
	if !u.kind.Hosts(shop.ComponentOrders) {
		return nil
	}
	db, err := u.looker(ctx, u.design.DatabaseOf(shop.ComponentOrders))
	if err != nil {
		return err
	}
	syncs, known, err := db.Syncs(ctx)
	if known {
		u.syncsBefore = &syncs
	}
	return err
}

// Report implements hosting.Served: it hands over the observations and spans of the unit, and sends its
// counts.
func (u *Unit) Report(channel *unit.Channel) error {
	if u.observed != nil {
		err := u.observed.Flush()
		if err == nil {
			err = channel.HandOver(observation.File(u.place.Dir, u.Name))
		}
		if err != nil {
			return err
		}
	}
	if err := u.HandOverSpans(channel); err != nil {
		return err
	}
	return channel.Report(u.Counts())
}

// Counts returns the counts of the unit since it was started.
func (u *Unit) Counts() Report {
	r := Report{Report: hosting.ReportOf(u.Calls.Guards, u.Spans), Kind: u.kind.Name,
		Databases: map[string]database.Counters{}, CallBytes: u.callBytes.Load(),
		Calls: map[string]int64{}, SyncsBefore: u.syncsBefore}
	for name, db := range u.opened {
		r.Databases[name] = db.Counters()
	}
	for kind, calls := range u.callees.calls {
		r.Calls[kind] = calls.Load()
	}
	if u.around.Broker != nil {
		counts := u.around.Broker.Counts()
		r.Messages = &Messages{Published: counts.Published, Delivered: counts.Delivered,
			Bytes: counts.PublishedBytes + counts.DeliveredBytes}
	}
	return r
}

// lookers holds the database handles of observe and of looks for work that is left. Their statements do not
// count as the unit's work.
type lookers struct {
	mu     sync.Mutex
	opened map[string]*database.DB
}

// looker returns the handle of a database. It opens the handle when it is first needed.
func (u *Unit) looker(ctx context.Context, name string) (*database.DB, error) {
	u.lookers.mu.Lock()
	defer u.lookers.mu.Unlock()
	if known := u.lookers.opened[name]; known != nil {
		return known, nil
	}
	db, err := database.Open(ctx, u.where.Config(name, 1))
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.Name, err)
	}
	if u.lookers.opened == nil {
		u.lookers.opened = map[string]*database.DB{}
	}
	u.lookers.opened[name] = db
	return db, nil
}

// Close implements io.Closer.
func (l *lookers) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, db := range l.opened {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// Counting is a listener that counts the bytes of all its connections, in both directions.
type Counting struct {
	net.Listener
	Bytes *atomic.Int64
}

// Accept implements net.Listener.
func (c Counting) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return counted{accepted, c.Bytes}, nil
}

// counted is a connection of such a listener.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

// Read implements net.Conn.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}

// SyscallConn implements syscall.Conn for code that watches the connection. TCP and
// Unix connections have it.
func (c counted) SyscallConn() (syscall.RawConn, error) {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("connection %T has no descriptor: %w", c.Conn, errors.ErrUnsupported)
	}
	return raw.SyscallConn()
}

// tracer returns what makes the spans of the unit; nil if no orders are traced.
func (u *Unit) tracer() trace.TracerProvider {
	if u.Spans == nil {
		return nil // and not an interface of a nil pointer
	}
	return u.Spans
}
