package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
)

const (
	// mongoDatabase is the database that all units share.
	mongoDatabase = "airline"
	// mongoPatience limits the wait for a server that does not answer.
	mongoPatience = 5 * time.Second
	// loadedAtOnce is the number of documents that are loaded with one call.
	loadedAtOnce = 1000
)

// The collections.
const (
	collectionLoaded    = "loaded"    // _id: name of a collection that is complete
	collectionCustomers = "customers" // accountDocument
	collectionSessions  = "sessions"  // sessionDocument
	collectionAirports  = "airports"  // _id: code
	collectionFlights   = "flights"   // flightDocument
	collectionOrders    = "orders"    // orderDocument
)

// Collections returns the names of the collections that the airline makes in a server, in each runtime.
func Collections() []string {
	return []string{collectionLoaded, collectionCustomers, collectionSessions, collectionAirports,
		collectionFlights, collectionOrders}
}

// mongoStore is a store on a server of MongoDB's protocol.
type mongoStore struct {
	client *mongo.Client
	db     *mongo.Database
}

// accountDocument is a customer.
type accountDocument struct {
	Login     string          `bson:"_id"`
	FirstName string          `bson:"firstName"`
	LastName  string          `bson:"lastName"`
	Phone     string          `bson:"phone"`
	Miles     int             `bson:"miles"`
	Address   airline.Address `bson:"address"`
	Password  string          `bson:"password"`
}

func (d accountDocument) account() airline.Account {
	return airline.Account{Password: d.Password, Customer: airline.Customer{Login: d.Login,
		FirstName: d.FirstName, LastName: d.LastName, Phone: d.Phone, Miles: d.Miles, Address: d.Address}}
}

// sessionDocument is a session.
type sessionDocument struct {
	Token   string    `bson:"_id"`
	Login   string    `bson:"login"`
	Expires time.Time `bson:"expires"`
}

// flightDocument is a flight.
type flightDocument struct {
	ID      string    `bson:"_id"`
	From    string    `bson:"from"`
	To      string    `bson:"to"`
	Day     string    `bson:"day"` // YYYYMMDD
	Departs time.Time `bson:"departs"`
	Minutes int       `bson:"minutes"`
	Price   int       `bson:"price"`
}

func (d flightDocument) flight() airline.Flight {
	return airline.Flight{ID: d.ID, From: d.From, To: d.To, Departs: d.Departs.UTC(), Minutes: d.Minutes,
		Price: d.Price}
}

// orderDocument holds what was booked together. It is one document, since a server alone
// writes that as a whole or not at all; an index refuses a second one with the same
// customer and flight.
type orderDocument struct {
	ID     string         `bson:"_id"`
	Login  string         `bson:"login"`
	Booked string         `bson:"booked"`
	Seats  []seatDocument `bson:"seats"`
}

// seatDocument is one booking of an order.
type seatDocument struct {
	ID     string `bson:"id"`
	Flight string `bson:"flight"`
}

func (d orderDocument) bookings() []airline.Booking {
	var all []airline.Booking
	for _, s := range d.Seats {
		all = append(all, airline.Booking{ID: s.ID, Login: d.Login, Flight: s.Flight, Booked: d.Booked})
	}
	return all
}

// OpenMongo opens the store at a URL, which may have secrets: no error repeats it.
func OpenMongo(ctx context.Context, url string) (Store, error) {
	settings := options.Client().ApplyURI(url)
	settings.SetServerSelectionTimeout(mongoPatience).SetTimeout(mongoPatience)
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, errors.New("the URL of the database is none that its driver can use")
	}
	m := &mongoStore{client, client.Database(mongoDatabase)}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for collection, indices := range map[string][]mongo.IndexModel{
		// the server removes expired sessions
		collectionSessions: {{Keys: keys("expires"), Options: options.Index().SetExpireAfterSeconds(0)}},
		collectionFlights:  {{Keys: keys("from", "to", "day")}},
		collectionOrders: {{Keys: keys("login", "seats.flight"), Options: options.Index().SetUnique(true)},
			{Keys: keys("seats.id")}},
	} {
		if _, err := m.db.Collection(collection).Indexes().CreateMany(ctx, indices); err != nil {
			return nil, errors.Join(fmt.Errorf("make the indices of %s: %w", collection, err), m.Close())
		}
	}
	return m, nil
}

// keys returns the fields of an index, each in ascending order.
func keys(names ...string) bson.D {
	var all bson.D
	for _, name := range names {
		all = append(all, bson.E{Key: name, Value: 1})
	}
	return all
}

// field returns a document with one field, as a filter or as an update.
func field(name string, value any) bson.D { return bson.D{{Key: name, Value: value}} }

// Close implements Store.
func (m *mongoStore) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), mongoPatience)
	defer cancel()
	return m.client.Disconnect(ctx)
}

// problem returns the problem Unavailable if the server did not answer, and any other error as it is.
func problem(err error) error {
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
		return &rpc.Problem{Kind: rpc.Unavailable, Detail: "the database of the airline does not answer",
			Cause: err}
	}
	return err
}

// findOne reads a document; known tells whether there is one.
func findOne[T any](
	ctx context.Context, m *mongoStore, collection string, filter bson.D,
) (document T, known bool, err error) {
	err = m.db.Collection(collection).FindOne(ctx, filter).Decode(&document)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return document, false, nil
	}
	return document, err == nil, problem(err)
}

// findAll returns all documents that match a filter.
func findAll[T any](ctx context.Context, m *mongoStore, collection string, filter bson.D) ([]T, error) {
	cursor, err := m.db.Collection(collection).Find(ctx, filter)
	if err != nil {
		return nil, problem(err)
	}
	var all []T
	err = cursor.All(ctx, &all)
	return all, problem(err)
}

// Load implements Store.
func (m *mongoStore) Load(ctx context.Context, data airline.Data, customers, flights bool) error {
	if customers {
		if err := loadOnce(ctx, m, collectionCustomers, data.AllAccounts(), func(a airline.Account) any {
			c := a.Customer
			return accountDocument{c.Login, c.FirstName, c.LastName, c.Phone, c.Miles, c.Address, a.Password}
		}); err != nil {
			return err
		}
	}
	if !flights {
		return nil
	}
	if err := loadOnce(ctx, m, collectionAirports, slices.Values(data.AllAirports()), func(code string) any {
		return field("_id", code)
	}); err != nil {
		return err
	}
	return loadOnce(ctx, m, collectionFlights, data.AllFlights(), func(f airline.Flight) any {
		return flightDocument{f.ID, f.From, f.To, f.Departs.Format(airline.DayLayout), f.Departs, f.Minutes,
			f.Price}
	})
}

// loadOnce loads a collection with a document of each item, unless it was loaded to its end before.
func loadOnce[T any](
	ctx context.Context, m *mongoStore, collection string, items iter.Seq[T], document func(T) any,
) error {
	_, complete, err := findOne[bson.D](ctx, m, collectionLoaded, field("_id", collection))
	if err != nil || complete {
		return err
	}
	if _, err := m.db.Collection(collection).DeleteMany(ctx, bson.D{}); err != nil {
		return problem(err)
	}
	var batch []any
	insert := func() error {
		_, err := m.db.Collection(collection).InsertMany(ctx, batch)
		batch = batch[:0]
		return problem(err)
	}
	for item := range items {
		if batch = append(batch, document(item)); len(batch) == loadedAtOnce {
			if err := insert(); err != nil {
				return err
			}
		}
	}
	if len(batch) > 0 {
		if err := insert(); err != nil {
			return err
		}
	}
	_, err = m.db.Collection(collectionLoaded).InsertOne(ctx, field("_id", collection))
	return problem(err)
}

// Account implements Store.
func (m *mongoStore) Account(ctx context.Context, login string) (airline.Account, bool, error) {
	found, known, err := findOne[accountDocument](ctx, m, collectionCustomers, field("_id", login))
	return found.account(), known, err
}

// SetContact implements Store.
func (m *mongoStore) SetContact(
	ctx context.Context, login string, contact airline.Contact,
) (airline.Customer, error) {
	var changed accountDocument
	err := m.db.Collection(collectionCustomers).FindOneAndUpdate(ctx, field("_id", login),
		field("$set", bson.D{{Key: "phone", Value: contact.Phone}, {Key: "address", Value: contact.Address}}),
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&changed)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = errNoCustomer()
	}
	return changed.account().Customer, problem(err)
}

// AddSession implements Store.
func (m *mongoStore) AddSession(ctx context.Context, token string, session airline.Session) error {
	_, err := m.db.Collection(collectionSessions).InsertOne(ctx,
		sessionDocument{token, session.Login, session.Expires})
	return problem(err)
}

// Session implements Store.
func (m *mongoStore) Session(ctx context.Context, token string) (airline.Session, bool, error) {
	found, known, err := findOne[sessionDocument](ctx, m, collectionSessions, field("_id", token))
	return airline.Session{Login: found.Login, Expires: found.Expires.UTC()}, known, err
}

// EndSession implements Store.
func (m *mongoStore) EndSession(ctx context.Context, token string) error {
	_, err := m.db.Collection(collectionSessions).DeleteOne(ctx, field("_id", token))
	return problem(err)
}

// HasAirport implements Store.
func (m *mongoStore) HasAirport(ctx context.Context, code string) (bool, error) {
	_, known, err := findOne[bson.D](ctx, m, collectionAirports, field("_id", code))
	return known, err
}

// Flights implements Store.
func (m *mongoStore) Flights(ctx context.Context, from, to, day string) ([]airline.Flight, error) {
	documents, err := findAll[flightDocument](ctx, m, collectionFlights,
		bson.D{{Key: "from", Value: from}, {Key: "to", Value: to}, {Key: "day", Value: day}})
	var found []airline.Flight
	for _, d := range documents {
		found = append(found, d.flight())
	}
	airline.SortFlights(found)
	return found, err
}

// Flight implements Store.
func (m *mongoStore) Flight(ctx context.Context, id string) (airline.Flight, bool, error) {
	found, known, err := findOne[flightDocument](ctx, m, collectionFlights, field("_id", id))
	return found.flight(), known, err
}

// Book implements Store. The index does not compare the flights of one order: package web refuses a flight
// that is in an order twice.
func (m *mongoStore) Book(ctx context.Context, bookings []airline.Booking) error {
	order := orderDocument{ID: bookings[0].ID, Login: bookings[0].Login, Booked: bookings[0].Booked}
	for _, b := range bookings {
		order.Seats = append(order.Seats, seatDocument{b.ID, b.Flight})
	}
	_, err := m.db.Collection(collectionOrders).InsertOne(ctx, order)
	if mongo.IsDuplicateKeyError(err) {
		return rpc.Problemf(airline.AlreadyBooked, "you have booked this flight, or one of both, before")
	}
	return problem(err)
}

// Bookings implements Store.
func (m *mongoStore) Bookings(ctx context.Context, login string) ([]airline.Booking, error) {
	orders, err := findAll[orderDocument](ctx, m, collectionOrders, field("login", login))
	var found []airline.Booking
	for _, order := range orders {
		found = append(found, order.bookings()...)
	}
	sortByTime(found)
	return found, err
}

// Cancel implements Store. The last seat of an order goes with the order: to the unique
// index, two orders without seats would be the same.
func (m *mongoStore) Cancel(ctx context.Context, login, id string) error {
	order, known, err := findOne[orderDocument](ctx, m, collectionOrders, field("seats.id", id))
	if err := cmp.Or(err, checkOwner(login, order.Login, known)); err != nil {
		return err
	}
	orders := m.db.Collection(collectionOrders)
	oneOfTwo := append(field("seats.id", id), bson.E{Key: "seats.1", Value: field("$exists", true)})
	seat := field("seats", field("id", id))
	pulled, err := orders.UpdateOne(ctx, oneOfTwo, field("$pull", seat))
	if err != nil || pulled.ModifiedCount > 0 {
		return problem(err)
	}
	deleted, err := orders.DeleteOne(ctx, field("seats.id", id))
	if err == nil && deleted.DeletedCount == 0 { // another request was faster
		return errUnknownBooking()
	}
	return problem(err)
}

// EachBooking implements Store.
func (m *mongoStore) EachBooking(ctx context.Context, visit func(airline.Booking) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // for the whole list; replaces mongoPatience
	defer cancel()
	orders, err := findAll[orderDocument](ctx, m, collectionOrders, bson.D{})
	for _, order := range orders {
		for _, b := range order.bookings() {
			if err == nil {
				err = visit(b)
			}
		}
	}
	return err
}
