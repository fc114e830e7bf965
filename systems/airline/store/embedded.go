package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
)

// The buckets, each with its key and, behind a colon, its value; without one, the value is JSON. Where the
// value is "nothing", it is empty: only the key counts.
const (
	bucketLoaded   = "loaded"   // by the name of what is loaded: nothing
	bucketAccounts = "accounts" // by login
	bucketSessions = "sessions" // by token
	bucketExpiries = "expiries" // by the time when a session expires, and its token (expiryKey): nothing
	bucketAirports = "airports" // by code: nothing
	bucketFlights  = "flights"  // by id
	bucketBookings = "bookings" // by id
	bucketSeats    = "seats"    // by login, a zero byte and flight: the booking's id, not JSON
)

// embedded is a store in a file of bbolt. Writes that wait at the same time share a
// commit. A commit is in the kernel's hands when it returns, not on the disk: it
// survives a kill of the process, and not a loss of power, like what MongoDB
// acknowledges by default.
type embedded struct {
	db     *bolt.DB
	writes chan write
	stop   chan struct{} // closed to end the writer
	ended  chan struct{} // closed when it has ended
}

// write is a step of a write transaction. A step that refuses has written nothing.
type write struct {
	do   func(tx *bolt.Tx) error
	done chan error
}

const (
	// fileName is the store's file in the unit's folder.
	fileName = "airline.db"
	// firstMap is the number of bytes of the file that are mapped from the start: extending the map pauses all
	// readers.
	firstMap = 256 << 20
	// mostShared is the number of steps that share a commit at most.
	mostShared = 256
	// lockPatience limits the wait for the file while a killed predecessor still holds it.
	lockPatience = 5 * time.Second
)

// OpenEmbedded opens the store in a folder, which it makes where it is missing.
func OpenEmbedded(folder string) (Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the store: %w", err)
	}
	path := filepath.Join(folder, fileName)
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: lockPatience, NoSync: true, NoFreelistSync: true, NoStatistics: true,
		FreelistType: bolt.FreelistMapType, InitialMmapSize: firstMap,
	})
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{bucketLoaded, bucketAccounts, bucketSessions, bucketExpiries, bucketAirports,
			bucketFlights, bucketBookings, bucketSeats} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the buckets of the store %s: %w", path, err), db.Close())
	}
	e := &embedded{db, make(chan write, mostShared), make(chan struct{}), make(chan struct{})}
	go e.writer()
	return e, nil
}

// writer carries out writes: those that wait when a commit ends are in the next one.
func (e *embedded) writer() {
	defer close(e.ended)
	for {
		select {
		case first := <-e.writes:
			e.commit(e.waiting([]write{first}))
		case <-e.stop:
			return
		}
	}
}

// waiting returns the batch with the writes that wait added to it.
func (e *embedded) waiting(batch []write) []write {
	for len(batch) < mostShared {
		select {
		case w := <-e.writes:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

// commit carries out writes in one transaction and sends each its outcome.
func (e *embedded) commit(batch []write) {
	refused := make([]error, len(batch))
	failed := e.db.Update(func(tx *bolt.Tx) error {
		for i, w := range batch {
			var problem *rpc.Problem
			if refused[i] = w.do(tx); refused[i] != nil && !errors.As(refused[i], &problem) {
				return refused[i] // the step may be half done: undo the whole transaction
			}
		}
		return nil
	})
	for i, w := range batch {
		w.done <- cmp.Or(failed, refused[i])
	}
}

// update carries out a step in a transaction of the writer and returns its outcome.
func (e *embedded) update(do func(tx *bolt.Tx) error) error {
	w := write{do, make(chan error, 1)}
	select {
	case e.writes <- w:
	case <-e.ended:
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-e.ended:
		return errClosed
	}
}

// errClosed is the error of a request that is still in flight when the unit closes its store.
var errClosed = errors.New("the store is closed")

// Close implements Store.
func (e *embedded) Close() error {
	close(e.stop)
	<-e.ended
	return e.db.Close()
}

func bucketOf(tx *bolt.Tx, name string) *bolt.Bucket { return tx.Bucket([]byte(name)) }

// get reads the value of a key; known tells whether there is one.
func get[T any](tx *bolt.Tx, bucket, key string) (value T, known bool, err error) {
	text := bucketOf(tx, bucket).Get([]byte(key))
	if text == nil {
		return value, false, nil
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, false, fmt.Errorf("read %s %q: %w", bucket, key, err)
	}
	return value, true, nil
}

func put(tx *bolt.Tx, bucket, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s %q: %w", bucket, key, err)
	}
	return bucketOf(tx, bucket).Put([]byte(key), text)
}

// find is get in a transaction of its own.
func find[T any](e *embedded, bucket, key string) (value T, known bool, err error) {
	err = e.db.View(func(tx *bolt.Tx) error {
		value, known, err = get[T](tx, bucket, key)
		return err
	})
	return value, known, err
}

// Load implements Store.
func (e *embedded) Load(_ context.Context, data airline.Data, customers, flights bool) error {
	return e.update(func(tx *bolt.Tx) error {
		loaded := bucketOf(tx, bucketLoaded)
		if customers && loaded.Get([]byte(bucketAccounts)) == nil {
			for account := range data.AllAccounts() {
				if err := put(tx, bucketAccounts, account.Customer.Login, account); err != nil {
					return err
				}
			}
			if err := loaded.Put([]byte(bucketAccounts), []byte{}); err != nil {
				return err
			}
		}
		if !flights || loaded.Get([]byte(bucketFlights)) != nil {
			return nil
		}
		for _, code := range data.AllAirports() {
			if err := bucketOf(tx, bucketAirports).Put([]byte(code), []byte{}); err != nil {
				return err
			}
		}
		for flight := range data.AllFlights() {
			if err := put(tx, bucketFlights, flight.ID, flight); err != nil {
				return err
			}
		}
		return loaded.Put([]byte(bucketFlights), []byte{})
	})
}

// Account implements Store.
func (e *embedded) Account(_ context.Context, login string) (airline.Account, bool, error) {
	return find[airline.Account](e, bucketAccounts, login)
}

// SetContact implements Store.
func (e *embedded) SetContact(
	_ context.Context, login string, contact airline.Contact,
) (airline.Customer, error) {
	var account airline.Account
	err := e.update(func(tx *bolt.Tx) (err error) {
		var known bool
		if account, known, err = get[airline.Account](tx, bucketAccounts, login); err != nil || !known {
			return cmp.Or(err, errNoCustomer())
		}
		account.Customer.Phone = contact.Phone
		account.Customer.Address = contact.Address
		return put(tx, bucketAccounts, login, account)
	})
	return account.Customer, err
}

// sweptAtOnce is the greatest number of expired sessions that a new session removes. It is more than one, so
// that expired sessions do not pile up.
const sweptAtOnce = 4

// expiryKey returns a key that begins with the time, so that keys are in the order of expiry.
func expiryKey(expires time.Time, token string) []byte {
	key := binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMilli()))
	return append(key, token...)
}

// AddSession implements Store. The entry of a session that was ended stays in expiries until it would expire.
func (e *embedded) AddSession(_ context.Context, token string, session airline.Session) error {
	return e.update(func(tx *bolt.Tx) error {
		sessions := bucketOf(tx, bucketSessions)
		expiries := bucketOf(tx, bucketExpiries)
		now := expiryKey(time.Now(), "")
		for range sweptAtOnce {
			key, _ := expiries.Cursor().First()
			if key == nil || bytes.Compare(key, now) > 0 {
				break
			}
			expired := key[len(now):] // the rest of the key, behind the time, is the token
			if err := errors.Join(sessions.Delete(expired), expiries.Delete(bytes.Clone(key))); err != nil {
				return err
			}
		}
		return errors.Join(put(tx, bucketSessions, token, session),
			expiries.Put(expiryKey(session.Expires, token), []byte{}))
	})
}

// Session implements Store.
func (e *embedded) Session(_ context.Context, token string) (airline.Session, bool, error) {
	return find[airline.Session](e, bucketSessions, token)
}

// EndSession implements Store.
func (e *embedded) EndSession(_ context.Context, token string) error {
	return e.update(func(tx *bolt.Tx) error { return bucketOf(tx, bucketSessions).Delete([]byte(token)) })
}

// HasAirport implements Store.
func (e *embedded) HasAirport(_ context.Context, code string) (known bool, err error) {
	err = e.db.View(func(tx *bolt.Tx) error {
		known = bucketOf(tx, bucketAirports).Get([]byte(code)) != nil
		return nil
	})
	return known, err
}

// Flights implements Store.
func (e *embedded) Flights(_ context.Context, from, to, day string) ([]airline.Flight, error) {
	var found []airline.Flight
	prefix := fmt.Appendf(nil, "%s-%s-%s-", from, to, day)
	err := e.db.View(func(tx *bolt.Tx) error {
		flights := bucketOf(tx, bucketFlights).Cursor()
		for key, text := flights.Seek(prefix); bytes.HasPrefix(key, prefix); key, text = flights.Next() {
			var flight airline.Flight
			if err := json.Unmarshal(text, &flight); err != nil {
				return fmt.Errorf("read flight %q: %w", key, err)
			}
			found = append(found, flight)
		}
		return nil
	})
	airline.SortFlights(found)
	return found, err
}

// Flight implements Store.
func (e *embedded) Flight(_ context.Context, id string) (airline.Flight, bool, error) {
	return find[airline.Flight](e, bucketFlights, id)
}

// seat returns the key under which a customer's booking of a flight is found. No login has a
// zero byte.
func seat(login, flight string) []byte { return []byte(login + "\x00" + flight) }

// Book implements Store.
func (e *embedded) Book(_ context.Context, bookings []airline.Booking) error {
	return e.update(func(tx *bolt.Tx) error {
		seats := bucketOf(tx, bucketSeats)
		for _, b := range bookings {
			if seats.Get(seat(b.Login, b.Flight)) != nil {
				return rpc.Problemf(airline.AlreadyBooked, "you have booked %s before", b.Flight)
			}
		}
		for _, b := range bookings {
			if err := errors.Join(put(tx, bucketBookings, b.ID, b),
				seats.Put(seat(b.Login, b.Flight), []byte(b.ID))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Bookings implements Store.
func (e *embedded) Bookings(_ context.Context, login string) ([]airline.Booking, error) {
	var found []airline.Booking
	prefix := seat(login, "")
	err := e.db.View(func(tx *bolt.Tx) error {
		seats := bucketOf(tx, bucketSeats).Cursor()
		for key, id := seats.Seek(prefix); bytes.HasPrefix(key, prefix); key, id = seats.Next() {
			booking, known, err := get[airline.Booking](tx, bucketBookings, string(id))
			if err != nil || !known {
				return cmp.Or(err, fmt.Errorf("the booking %s of a seat is missing", id))
			}
			found = append(found, booking)
		}
		return nil
	})
	sortByTime(found)
	return found, err
}

// Cancel implements Store.
func (e *embedded) Cancel(_ context.Context, login, id string) error {
	return e.update(func(tx *bolt.Tx) error {
		booking, known, err := get[airline.Booking](tx, bucketBookings, id)
		if err := cmp.Or(err, checkOwner(login, booking.Login, known)); err != nil {
			return err
		}
		return errors.Join(bucketOf(tx, bucketSeats).Delete(seat(login, booking.Flight)),
			bucketOf(tx, bucketBookings).Delete([]byte(id)))
	})
}

// EachBooking implements Store. It reads all bookings before the first visit, since visits may be slow.
func (e *embedded) EachBooking(_ context.Context, visit func(airline.Booking) error) error {
	var all []airline.Booking
	err := e.db.View(func(tx *bolt.Tx) error {
		return bucketOf(tx, bucketBookings).ForEach(func(_, text []byte) error {
			all = append(all, airline.Booking{})
			return json.Unmarshal(text, &all[len(all)-1])
		})
	})
	for _, b := range all {
		if err == nil {
			err = visit(b)
		}
	}
	return err
}
