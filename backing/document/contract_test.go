package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// opener returns a function that opens a store. Its first call opens a new, empty one,
// and later calls open the same store again.
type opener func(t *testing.T) func() Store

func openers(t *testing.T) map[string]opener {
	return map[string]opener{
		"sqlite": func(t *testing.T) func() Store { return open(t, "sqlite://"+t.TempDir(), "documents") },
		"mongo":  mongoServer(t),
	}
}

func open(t *testing.T, address, database string) func() Store {
	return func() Store {
		t.Helper()
		store, err := Open(within(t), address, database)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, store.Close()) })
		return store
	}
}

// mongoServer starts a server when the first test needs it. All tests share it, with
// a database for each.
func mongoServer(t *testing.T) opener {
	var databases int
	start := sync.OnceValue(func() *servers.Instance {
		return servers.Started(t, server.Mongo, server.Settings{})
	})
	return func(t *testing.T) func() Store {
		t.Helper()
		servers.Need(t, server.Mongo)
		instance := start()
		if instance.StandIn != "" {
			t.Logf("MongoDB's protocol is spoken by the stand-in %s %s", instance.StandIn, instance.Version)
		}
		databases++
		return open(t, instance.URL(), fmt.Sprint("views", databases))
	}
}

// within returns a context for one call or test, which ends after two minutes.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestContract(t *testing.T) {
	promises := []struct {
		name string
		test func(t *testing.T, open func() Store)
	}{
		{"a document is read as it was written", readAsWritten},
		{"an older version never replaces a newer one", versionsOnlyRise},
		{"a batch may hold a document twice", twiceInABatch},
		{"a batch may hold a document new and old", newAndOldInABatch},
		{"writers of one document leave the newest", newestWins},
		{"many are read at once, without the missing ones", manyAtOnce},
		{"pages cover a field once and in order", pagesCover},
		{"pages go backwards", pagesGoBackwards},
		{"what is written outlives its client", outlivesClient},
		{"declaring again changes nothing", declareAgain},
		{"mistakes are named", mistakesAreNamed},
		{"calls of traced operations are spans", callsAreSpans},
	}
	for name, opener := range openers(t) {
		t.Run(name, func(t *testing.T) {
			for _, promise := range promises {
				t.Run(promise.name, func(t *testing.T) { promise.test(t, opener(t)) })
			}
		})
	}
}

func manyAtOnce(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsert(t, store, 3, order("a", 1, "ada"), order("b", 2, "bob"), order("c", 3, "cid"))
	found, err := store.GetMany(within(t), "orders", "c", "nobody", "a")
	testset.Must(t, err)
	versions := map[string]int64{}
	for _, d := range found {
		versions[d.ID] = d.Version
	}
	if len(found) != 2 || versions["a"] != 1 || versions["c"] != 3 {
		t.Errorf("read %+v, want a and c", found)
	}
	if none, err := store.GetMany(within(t), "orders"); err != nil || len(none) > 0 {
		t.Errorf("without ids: %v, %v", none, err)
	}
	if _, err := store.GetMany(within(t), "orders", make([]string, MaxPage+1)...); err == nil {
		t.Error("more than a page was read at once")
	}
	if _, err := store.GetMany(within(t), "nothing", "a"); err == nil {
		t.Error("a collection that was not declared was read")
	}
}

// declared opens a store with one collection.
func declared(t *testing.T, open func() Store) Store {
	t.Helper()
	store := open()
	testset.Must(t, store.Declare(within(t), Collection{Name: "orders", Indexed: []string{"customer", "state"}}))
	return store
}

// order returns a document for tests.
func order(id string, version int64, customer string) Document {
	return Document{ID: id, Version: version,
		Body: json.RawMessage(fmt.Sprintf(`{"customer":%q,"state":"paid","cents":%d}`, customer, version*100))}
}

func upsert(t *testing.T, store Store, want int, documents ...Document) {
	t.Helper()
	applied, err := store.Upsert(within(t), "orders", documents...)
	testset.Must(t, err)
	if applied != want {
		t.Errorf("%d applied, want %d", applied, want)
	}
}

func expect(t *testing.T, store Store, want Document) {
	t.Helper()
	got, err := store.Get(within(t), "orders", want.ID)
	testset.Must(t, err)
	if canonicalText(t, got) != canonicalText(t, want) {
		t.Errorf("document = %s, want %s", canonicalText(t, got), canonicalText(t, want))
	}
}

// canonicalText returns a document as a text, with its body in canonical form.
func canonicalText(t *testing.T, d Document) string {
	t.Helper()
	body, err := canonical(d.Body)
	testset.Must(t, err)
	return fmt.Sprint(d.ID, " ", d.Version, " ", string(body))
}

func readAsWritten(t *testing.T, open func() Store) {
	store := declared(t, open)
	written := Document{ID: "o'1 \"\\ é", Version: 7, Body: json.RawMessage(
		`{"customer":"c","state":null,"yes":true,"big":9007199254740993,"negative":-5,"half":0.5,"$odd.name":"x","lines":[{"sku":"a","n":2},[],{}],"text":"é\u0000\"\\"}`)}
	upsert(t, store, 1, written)
	expect(t, store, written)
	if _, err := store.Get(within(t), "orders", "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want %v", err, ErrNotFound)
	}
}

func versionsOnlyRise(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsert(t, store, 1, order("o", 2, "a"))
	upsert(t, store, 0, order("o", 1, "b"))
	upsert(t, store, 0, order("o", 2, "c"))
	expect(t, store, order("o", 2, "a"))
	upsert(t, store, 2, order("o", 5, "d"), order("new", 1, "d"))
	expect(t, store, order("o", 5, "d"))
	upsert(t, store, 0)
}

func twiceInABatch(t *testing.T, open func() Store) {
	store := declared(t, open)
	_, err := store.Upsert(within(t), "orders", order("o", 1, "a"), order("o", 3, "b"), order("o", 2, "c"),
		order("p", 1, "d"))
	testset.Must(t, err)
	expect(t, store, order("o", 3, "b"))
	expect(t, store, order("p", 1, "d"))
}

// newAndOldInABatch writes new documents, newer versions and older versions in one batch.
func newAndOldInABatch(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsert(t, store, 3, order("a", 1, "old"), order("b", 2, "old"), order("e", 0, "before the first"))
	upsert(t, store, 5, order("a", 2, "new"), order("b", 1, "stale"), order("c", 1, "first"),
		order("a", 1, "stale"), order("d", 5, "first"), order("b", 3, "new"), order("e", 1, "first"))
	for _, want := range []Document{order("a", 2, "new"), order("b", 3, "new"), order("c", 1, "first"),
		order("d", 5, "first"), order("e", 1, "first")} {
		expect(t, store, want)
	}
}

func newestWins(t *testing.T, open func() Store) {
	store := declared(t, open)
	var writers sync.WaitGroup
	for version := range int64(12) {
		writers.Go(func() {
			for o := range 5 {
				if _, err := store.Upsert(within(t), "orders",
					order(fmt.Sprint("o", o), version, fmt.Sprint("c", version))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for o := range 5 {
		expect(t, store, order(fmt.Sprint("o", o), 11, "c11"))
	}
}

// upsertOrders writes 25 orders of customer a, with even numbers, and 10 of b, with odd ones.
func upsertOrders(t *testing.T, store Store) {
	t.Helper()
	var all []Document
	for n := range 25 {
		all = append(all, order(fmt.Sprintf("o%02d", n*2), 1, "a"))
	}
	for n := range 10 {
		all = append(all, order(fmt.Sprintf("o%02d", n*2+1), 1, "b"))
	}
	upsert(t, store, 35, all...)
}

// walk reads all pages of a query.
func walk(t *testing.T, store Store, query Query) []string {
	t.Helper()
	var found []string
	for {
		page, err := store.Find(within(t), "orders", query)
		testset.Must(t, err)
		for _, d := range page {
			found = append(found, d.ID)
		}
		if len(page) < query.Limit {
			return found
		}
		query.After = page[len(page)-1].ID
	}
}

func pagesCover(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsertOrders(t, store)
	var want []string
	for n := range 10 {
		want = append(want, fmt.Sprintf("o%02d", n*2+1))
	}
	if got := walk(t, store, Query{Field: "customer", Value: "b", Limit: 5}); !slices.Equal(got, want) {
		t.Errorf("customer b: %v, want %v", got, want)
	}
	for query, want := range map[Query]int{
		{Limit: 4}: 35, {Field: "state", Value: "paid", Limit: 35}: 35,
		{Field: "state", Value: "lost", Limit: 5}:       0,
		{Field: "customer", Value: "a", Limit: MaxPage}: 25,
	} {
		if got := walk(t, store, query); len(got) != want {
			t.Errorf("%+v: %d documents, want %d", query, len(got), want)
		}
	}
}

func pagesGoBackwards(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsertOrders(t, store)
	page, err := store.Find(within(t), "orders", Query{Field: "customer", Value: "a", Descending: true,
		After: "o40", Limit: 3})
	testset.Must(t, err)
	var found []string
	for _, d := range page {
		found = append(found, d.ID)
	}
	if want := []string{"o38", "o36", "o34"}; !slices.Equal(found, want) {
		t.Errorf("page = %v, want %v", found, want)
	}
}

func outlivesClient(t *testing.T, open func() Store) {
	upsert(t, declared(t, open), 1, order("o", 1, "a"))
	expect(t, declared(t, open), order("o", 1, "a"))
}

func declareAgain(t *testing.T, open func() Store) {
	store := declared(t, open)
	upsert(t, store, 1, order("o", 1, "a"))
	testset.Must(t, store.Declare(within(t), Collection{Name: "orders", Indexed: []string{"customer", "state"}},
		Collection{Name: "order"}))
	expect(t, store, order("o", 1, "a"))
}

func mistakesAreNamed(t *testing.T, open func() Store) {
	store := declared(t, open)
	ctx := within(t)
	find := func(collection string, query Query) error {
		_, err := store.Find(ctx, collection, query)
		return err
	}
	write := func(body string) error {
		_, err := store.Upsert(ctx, "orders", Document{ID: "o", Version: 1, Body: json.RawMessage(body)})
		return err
	}
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"page of nothing", find("orders", Query{}), "limit 0"},
		{"page too large", find("orders", Query{Limit: MaxPage + 1}), "limit 1001"},
		{"field without an index", find("orders", Query{Field: "cents", Value: "1", Limit: 1}),
			`field "cents" is not indexed ([customer state] are)`},
		{"unknown collection", find("none", Query{Limit: 1}), `collection "none" was not declared`},
		{"half a body", write(`{"a":`), `document "o": its body is not a JSON object`},
		{"two bodies", write(`{} {}`), "not a JSON object"},
		{"array", write(`[1]`), "not a JSON object"},
		{"collection's name", store.Declare(ctx, Collection{Name: "Orders"}), `collection "Orders"`},
		{"field's name", store.Declare(ctx, Collection{Name: "orders", Indexed: []string{"a.b'"}}),
			`indexed field "a.b'"`},
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", c.name, c.err, c.want)
		}
	}
	if _, err := store.Get(ctx, "orders", "o"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a refused document is there: %v", err)
	}
}

func TestOpenNamesMistakes(t *testing.T) {
	for address, want := range map[string]string{
		"couch://127.0.0.1:1":          `scheme must be "mongodb"`,
		"sqlite:///no/such/folder":     "open document store: ",
		"mongodb://me:secret@[::1":     "the address of the document store is not a URL",
		"mongodb://me:secret@a/?tls=x": "open document store: ",
	} {
		_, err := Open(within(t), address, "views")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v, want %q", address, err, want)
		}
	}
}

// canonical returns JSON in a canonical form: with sorted fields, no blanks, and whole
// numbers without a fraction.
func canonical(body json.RawMessage) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(plainNumbers(value))
}

// plainNumbers converts numbers to one form, because stores write them differently.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		if float, err := v.Float64(); err == nil {
			return float
		}
	case []any:
		for n := range v {
			v[n] = plainNumbers(v[n])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return value
}

// TestADatabaseHasThePrefixOfItsAddress checks that Open puts the path of an address before the database's
// name. Like the address of a user's own server, this one has no authSource.
func TestADatabaseHasThePrefixOfItsAddress(t *testing.T) {
	instance := servers.Started(t, server.Mongo, server.Settings{})
	address, err := url.Parse(instance.URL())
	testset.Must(t, err)
	address.Path = "/mine_"
	address.RawQuery = "directConnection=true"
	prefixed, err := Open(within(t), address.String(), "views")
	testset.Must(t, err)
	defer func() { testset.Must(t, prefixed.Close()) }()
	stock := Collection{Name: "stock"}
	testset.Must(t, prefixed.Declare(within(t), stock))
	_, err = prefixed.Upsert(within(t), stock.Name, Document{ID: "1", Version: 1, Body: []byte(`{"on_hand":1}`)})
	testset.Must(t, err)
	byName := open(t, instance.URL(), "mine_views")()
	testset.Must(t, byName.Declare(within(t), stock))
	if _, err := byName.Get(within(t), stock.Name, "1"); err != nil {
		t.Errorf("the document is not in the database mine_views: %v", err)
	}
}

// TestUsersWithPasswordsAreLookedForInThePath checks for which options of an address MongoDB looks for the
// user in the database of its path. Upper and lower case make no difference.
func TestUsersWithPasswordsAreLookedForInThePath(t *testing.T) {
	for options, want := range map[string]bool{"": true, "directConnection=true": true,
		"authMechanism=SCRAM-SHA-256": true, "AUTHMECHANISM=scram-sha-1": true, "authsource=users": false,
		"authMechanism=SCRAM-SHA-256&authSource=users": false, "AuthMechanism=MONGODB-X509": false} {
		read, err := url.ParseQuery(options)
		testset.Must(t, err)
		if got := looksInPath(read); got != want {
			t.Errorf("%q: in the path: %t, want %t", options, got, want)
		}
	}
}
