package assembly_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/orderviews"
	"github.com/cleave-lab/cleave/systems/shop/stockviews"
)

// changedColumn is a change of a value in the databases after a trial, and the audit's
// answer.
type changedColumn struct {
	where   string           // the rows to choose from: a condition on the table; empty: all
	says    string           // the problem after the row's owner; empty: the column's name
	to      any              // the new value; nil: another one of its kind
	verdict lab.AuditVerdict // empty: invalid
}

// judgedColumns returns the columns that the audit judges. Long because it is a table.
func judgedColumns() map[string]changedColumn {
	const confirmed, rejected = "state = 'confirmed'", "state = 'rejected'"
	const unproven = "in which order 1 steps came is unknown"
	return map[string]changedColumn{
		"orders.order_id":         {where: confirmed, says: "is not on record"},
		"orders.idempotency_key":  {where: confirmed, says: "key"},
		"orders.customer_id":      {where: confirmed},
		"orders.total_cents":      {where: confirmed},
		"orders.state":            {where: confirmed, says: "is cancelled and its", to: "cancelled"},
		"orders.rejection_kind":   {where: rejected, to: "unknown-customer"},
		"orders.rejection_detail": {where: rejected},
		"orders.version":          {},
		"orders.created_unix_us":  {to: int64(1_000_000)},
		"orders.journal":          {where: confirmed, says: unproven, to: "pending1", verdict: lab.AuditUnknown},

		"order_lines.order_id":         {says: "order_lines"},
		"order_lines.line":             {to: int64(7)},
		"order_lines.product_id":       {},
		"order_lines.name":             {},
		"order_lines.quantity":         {},
		"order_lines.unit_price_cents": {},

		"reservations.order_id":   {where: "state = 'committed'", says: "reservation"},
		"reservations.line":       {where: "state = 'committed'", to: int64(7)},
		"reservations.product_id": {where: "state = 'committed'"},
		"reservations.quantity":   {where: "state = 'committed'"},
		"reservations.state": {where: "state = 'committed'", says: "its reservation is restocked",
			to: "restocked"},
		"reservations.journal": {where: "state = 'committed' AND line = 0",
			says: "the lines of its reservation were not moved together", to: "reserved1"},

		"stock.product_id": {to: int64(9999)},
		"stock.on_hand":    {says: "on hand"},
		"stock.reserved":   {says: "reserved"},
		"stock.sold":       {says: "sold"},

		"accounts.customer_id":   {to: int64(9999)},
		"accounts.balance_cents": {says: "balance"},

		"payments.order_id":     {where: "state = 'captured'", says: "payment"},
		"payments.customer_id":  {where: "state = 'captured'"},
		"payments.amount_cents": {where: "state = 'captured'"},
		"payments.state":        {where: "state = 'captured'", says: "its payment is refunded", to: "refunded"},
		"payments.journal": {where: "state = 'captured'", says: unproven, to: "refunded1",
			verdict: lab.AuditUnknown},

		"sagas.order_id": {where: confirmed, says: "has no saga"},
		"sagas.state":    {where: confirmed, says: "its saga is undone", to: "undone"},

		"shipments.order_id":  {where: "state = 'shipped'", says: "shipment"},
		"shipments.recipient": {where: "state = 'shipped'"},
		"shipments.address":   {where: "state = 'shipped'"},
		"shipments.state":     {where: "state = 'shipped'", says: "its shipment is recalled", to: "recalled"},
		"shipments.journal": {where: "state = 'shipped'", says: unproven, to: "shipped1recalled2",
			verdict: lab.AuditUnknown},

		"products.product_id":         {to: int64(9999)},
		"products.name":               {},
		"products.search_name":        {},
		"products.price_cents":        {},
		"products.version":            {},
		"prices.product_id":           {to: int64(9999)},
		"prices.version":              {to: int64(9)},
		"prices.price_cents":          {},
		"prices.changed_us":           {to: int64(1_000_000)},
		"customers.customer_id":       {to: int64(9999)},
		"customers.name":              {},
		"customers.email":             {},
		"customers.address":           {},
		"known_products.product_id":   {to: int64(9999)},
		"known_products.name":         {},
		"known_products.price_cents":  {},
		"known_products.version":      {},
		"known_customers.customer_id": {to: int64(9999)},
		"known_customers.name":        {},
		"known_customers.address":     {},
	}
}

// unjudgedColumns returns the columns that the audit cannot judge, and why.
func unjudgedColumns() map[string]string {
	return map[string]string{
		"orders.lease_until_us": "identifies the coordinator that works on an order, and is empty in the end: " +
			"the audit counts orders with a lease as sagas that are left",
		"sagas.journal": "has the times of a saga's states: the journals of the steps prove their order",
		"stock.version": "orders the events about a product, and several changes in one transaction are one " +
			"version: it can only be compared with the versions of documents, which are judged",
	}
}

// TestEveryColumnIsJudgedOrSaidNotToBe: every column of the schema is in one of the two tables above.
func TestEveryColumnIsJudgedOrSaidNotToBe(t *testing.T) {
	files, err := filepath.Glob("../schema/tables/*.sql")
	testset.Must(t, err)
	declared := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		testset.Must(t, err)
		for _, table := range regexp.MustCompile(`(?s)CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\)`).
			FindAllStringSubmatch(string(text), -1) {
			for _, column := range regexp.MustCompile(`(?m)^  ([a-z_]+) `).FindAllStringSubmatch(table[2], -1) {
				declared[table[1]+"."+column[1]] = true
			}
		}
	}
	judged := judgedColumns()
	unjudged := unjudgedColumns()
	for column := range declared {
		_, is := judged[column]
		if why := unjudged[column]; is == (why != "") {
			t.Errorf("column %s must be judged, or there must be a reason why not", column)
		}
	}
	if len(declared) != len(judged)+len(unjudged) || len(declared) < 40 {
		t.Errorf("%d columns are declared, %d judged and %d not", len(declared), len(judged), len(unjudged))
	}
}

// TestEveryColumnIsJudged changes one value after the other in what a trial has left
// behind, in tables and in documents: the audit must find it, with the order or product and
// the column.
func TestEveryColumnIsJudged(t *testing.T) {
	testset.Need(t, "it audits a shop once per column")
	for name, c := range map[string]shape{
		"postgres":       {architecture.Monolith, knobs("database", "postgres")},
		"sqlite, events": {architecture.Async, nil},
		"mariadb, mongo, commands": {architecture.Async,
			knobs("coordination", "orchestrated-broker", "database", "mariadb", "documents", "mongo")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			design := designOf(t, c.of, c.turned)
			running, public := start(t, design, eventParts{logError: func(error) {}})
			clients := newCustomers(public)
			clients.order(t, 40)
			clients.cancel(t, 4)
			clients.reprice(t, 3)
			clients.send(t, audit.OperationCreate, "too-much", "/orders",
				`{"customerId":1,"lines":[{"productId":1,"quantity":900}]}`)
			over := finished{shop: running, clients: clients, open: running.database(t, design.DatabaseOf)}
			if design.Documents != "" {
				looking := running.onlooker(t)
				over.documents = looking.Documents
				running.settle(t, over.open, looking.Broker)
			}
			if got := over.judge(t); got.Verdict != lab.AuditValid || got.Counts[string(shop.StateRejected)] == 0 ||
				got.Counts[string(shop.StateCancelled)] == 0 {
				t.Fatalf("%s: %v, %v", got.Verdict, got.Problems, got.Counts)
			}
			for column, change := range judgedColumns() {
				if strings.HasPrefix(column, "known_") && design.Documents == "" {
					continue // the design has no replica
				}
				if strings.HasPrefix(column, "sagas.") && design.Coordination != architecture.Brokered {
					continue
				}
				t.Run(column, func(t *testing.T) { over.expectColumn(t, column, change) })
			}
			if design.Documents == "sqlite" { // the mutations need a store that does not change fields
				over.expectFields(t)
			}
			if got := over.judge(t); got.Verdict != lab.AuditValid {
				t.Errorf("all was put back: %s %q", got.Verdict, got.Problems)
			}
		})
	}
}

// finished is a shop in which no message is on its way any more.
type finished struct {
	shop      shopOf
	clients   *customers
	open      func(component string) *database.DB
	documents document.Store // nil: none
}

func (f finished) judge(t *testing.T) lab.Audit {
	t.Helper()
	if f.documents != nil {
		return f.shop.judge(t, f.open, f.documents, f.clients)
	}
	return audit.Judge(f.shop.recorded(t, f.open, f.clients))
}

// place describes the rows of a table.
type place struct {
	component string   // that keeps the table
	owner     string   // the audit's word for what the first key names
	keys      []string // columns that identify a row
}

// placesOfTables returns the places of all tables.
func placesOfTables() map[string]place {
	return map[string]place{
		"orders":          {shop.ComponentOrders, "order", []string{"order_id"}},
		"order_lines":     {shop.ComponentOrders, "order", []string{"order_id", "line"}},
		"reservations":    {shop.ComponentInventory, "order", []string{"order_id", "line"}},
		"stock":           {shop.ComponentInventory, "product", []string{"product_id"}},
		"payments":        {shop.ComponentPayments, "order", []string{"order_id"}},
		"accounts":        {shop.ComponentPayments, "account", []string{"customer_id"}},
		"shipments":       {shop.ComponentShipping, "order", []string{"order_id"}},
		"sagas":           {shop.ComponentOrders, "order", []string{"order_id"}},
		"products":        {shop.ComponentCatalog, "product", []string{"product_id"}},
		"prices":          {shop.ComponentCatalog, "product", []string{"product_id", "version"}},
		"customers":       {shop.ComponentCustomers, "customer", []string{"customer_id"}},
		"known_products":  {shop.ComponentOrders, "product", []string{"product_id"}},
		"known_customers": {shop.ComponentOrders, "customer", []string{"customer_id"}},
	}
}

// expectColumn changes a value of a column, checks that the audit finds it, and changes it back.
func (f finished) expectColumn(t *testing.T, name string, change changedColumn) {
	table, column, _ := strings.Cut(name, ".")
	place := placesOfTables()[table]
	db := f.open(place.component)
	key := place.keys[0]
	where := "1 = 1"
	if change.where != "" {
		where = change.where
	}
	var whose, old string
	_, err := db.One(t.Context(), []any{&whose, &old},
		"SELECT "+key+", "+column+" FROM "+table+" WHERE "+where+" ORDER BY "+strings.Join(place.keys, ", "))
	testset.Must(t, err)
	to := change.to
	if to == nil {
		to = another(old)
	}
	// The row is found by its key, which may be what is changed.
	now := map[string]any{key: typed(whose)}
	switch {
	case table == "prices":
		now["version"] = int64(2)
	case len(place.keys) > 1:
		now["line"] = int64(0)
	}
	set := func(value any) {
		t.Helper()
		text := "UPDATE " + table + " SET " + column + " = ? WHERE 1 = 1"
		args := []any{value}
		for _, key := range place.keys {
			text = text + " AND " + key + " = ?"
			args = append(args, now[key])
		}
		changed, err := db.Exec(t.Context(), text, args...)
		if err != nil || changed != 1 {
			t.Fatalf("set %s to %v: %d rows, %v", name, value, changed, err)
		}
		if _, isKey := now[column]; isKey {
			now[column] = value
		}
	}
	set(to)
	got := f.judge(t)
	set(typed(old))
	says := cmp.Or(change.says, name)
	verdict := cmp.Or(change.verdict, lab.AuditInvalid)
	owner := place.owner + " " + whose
	if column == key && place.owner != "order" {
		owner = "there is no " + whose
	}
	named := func(problem string) bool {
		return strings.Contains(problem, owner) && strings.Contains(problem, says)
	}
	if got.Verdict != verdict || !slices.ContainsFunc(got.Problems, named) {
		t.Errorf("%s of %s was %s and is %v: %s %q, want %s that names it and %q", name, whose, old, to,
			got.Verdict, got.Problems, verdict, says)
	}
}

// typed returns a value as the databases want it: a number where it is one.
func typed(text string) any {
	var number int64
	if _, err := fmt.Sscanf(text, "%d", &number); err == nil && fmt.Sprint(number) == text {
		return number
	}
	return text
}

// another returns a value like an old one, and as long.
func another(old string) any {
	if number, is := typed(old).(int64); is {
		return number + 1
	}
	last := "y"
	if strings.HasSuffix(old, last) {
		last = "z"
	}
	return old[:len(old)-1] + last
}

// expectFields is expectColumn for the fields of documents. A changed document has a newer
// version.
func (f finished) expectFields(t *testing.T) {
	notJudged := map[string]string{
		"occurredUnixUs": "when the event happened: it is measured, and no client sees it",
		"appliedUnixUs":  "when it was applied: likewise",
	}
	for collection, kind := range map[string]string{orderviews.Collection().Name: "order ",
		stockviews.Collection().Name: "product "} {
		all := f.all(t, collection)
		original := all[0]
		for _, d := range all { // one with a reason has all fields
			if strings.Contains(string(d.Body), `"rejection"`) {
				original = d
			}
		}
		try := func(name string, changed document.Document) {
			field := name[strings.LastIndex(name, ".")+1:]
			if notJudged[field] != "" {
				return
			}
			t.Run(collection+"."+name, func(t *testing.T) {
				over := f
				over.documents = altered{f.documents, collection, changed}
				got := over.judge(t)
				found := func(problem string) bool {
					return strings.Contains(problem, kind+original.ID+": ") && strings.Contains(problem, field+" is ")
				}
				if got.Verdict != lab.AuditInvalid || !slices.ContainsFunc(got.Problems, found) {
					t.Errorf("%s: %q, want invalid with %s%s and %s", got.Verdict, got.Problems, kind, original.ID, field)
				}
			})
		}
		newer := original
		newer.Version++
		try("version", newer)
		var body map[string]any
		testset.Must(t, json.Unmarshal(original.Body, &body))
		for _, name := range slices.Sorted(maps.Keys(fieldsOf(body))) {
			changed := original
			var other map[string]any
			testset.Must(t, json.Unmarshal(original.Body, &other))
			fieldsOf(other)[name]()
			var err error
			changed.Body, err = json.Marshal(other)
			testset.Must(t, err)
			try(name, changed)
		}
	}
}

// altered is a store in which a document of a collection stands in the place of the one with its id.
type altered struct {
	document.Store
	collection string
	with       document.Document
}

// Find implements document.Store.
func (a altered) Find(
	ctx context.Context, collection string, query document.Query,
) ([]document.Document, error) {
	page, err := a.Store.Find(ctx, collection, query)
	for i := range page {
		if collection == a.collection && page[i].ID == a.with.ID {
			page[i] = a.with
		}
	}
	return page, err
}

// all reads a collection.
func (f finished) all(t *testing.T, collection string) (all []document.Document) {
	t.Helper()
	for query := (document.Query{Limit: document.MaxPage}); ; query.After = all[len(all)-1].ID {
		page, err := f.documents.Find(t.Context(), collection, query)
		testset.Must(t, err)
		if all = append(all, page...); len(page) < query.Limit {
			return all
		}
	}
}

// fieldsOf returns all fields of a document that hold a value, with what changes it.
func fieldsOf(body map[string]any) map[string]func() {
	found := map[string]func(){}
	for name, value := range body {
		switch value := value.(type) {
		case map[string]any:
			for inner, change := range fieldsOf(value) {
				found[name+"."+inner] = change
			}
		case []any:
			for inner, change := range fieldsOf(value[0].(map[string]any)) {
				found[name+"."+inner] = change
			}
		case float64:
			found[name] = func() { body[name] = value + 1 }
		case string:
			found[name] = func() { body[name] = fmt.Sprint(another(value)) }
		}
	}
	return found
}
