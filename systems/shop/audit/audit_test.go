package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
)

// good returns the input of a flawless trial of three orders: A confirmed, B
// cancelled, C rejected. Two products of 10, two customers with 1000 cents.
func good() Input {
	attempt := func(id int64, op, key, order string, state shop.State, version int64) Attempt {
		return Attempt{
			Operation: op, Key: key, Order: order, State: state, Version: version, Outcome: OutcomeOK,
			Session: "s", ActualNS: 10 * id, CompleteNS: 10*id + 5,
		}
	}
	return Input{
		Seed:    shop.Seed{Customers: 2, Products: 2, Stock: 10, Balance: 1000},
		Fresh:   fresh{},
		Drained: true, Coordination: Orchestrated, UnixClock: true,
		History: []Attempt{
			asked(attempt(1, OperationCreate, "a", "A", shop.StateConfirmed, 1), 1, Wanted{1, 2}, Wanted{2, 1}),
			asked(attempt(2, OperationCreate, "b", "B", shop.StateConfirmed, 1), 2, Wanted{1, 1}),
			asked(attempt(3, OperationCreate, "c", "C", shop.StateRejected, 1), 2, Wanted{9, 1}),
			attempt(4, OperationRead, "", "B", shop.StateConfirmed, 1),
			attempt(5, OperationCancel, "", "B", shop.StateCancelled, 2),
			attempt(6, OperationCreate, "a", "A", shop.StateConfirmed, 1),
			{Operation: OperationCreate, Key: "timeout", Outcome: OutcomeInfo, ActualNS: 70, CompleteNS: 75},
			{Operation: OperationCreate, Key: "bad", Outcome: OutcomeFail, ActualNS: 80, CompleteNS: 85},
		},
		State: State{
			Orders: map[string]*Order{
				"A": {ID: "A", Key: "a", Customer: 1, TotalCents: 300, State: shop.StateConfirmed, Version: 2,
					Journal: "pending10confirmed15"},
				"B": {ID: "B", Key: "b", Customer: 2, TotalCents: 100, State: shop.StateCancelled, Version: 3,
					Journal: "pending20confirmed25cancelled30undone34"},
				"C": {ID: "C", Key: "c", Customer: 2, State: shop.StateRejected, Version: 2,
					Journal:   "pending36turned40rejected60",
					Rejection: Rejection{"unknown-product", "there is no product 9"}},
			},
			Lines: map[string][]Line{
				"A": {{Product: 1, Quantity: 2, PriceCents: 100, Name: "thing 1"},
					{Product: 2, Quantity: 1, PriceCents: 100, Name: "thing 2", Number: 1}},
				"B": {{Product: 1, Quantity: 1, PriceCents: 100, Name: "thing 1"}}, "C": {{Product: 9, Quantity: 1}},
			},
			Reservations: map[string][]Line{
				"A": {
					{Product: 1, Quantity: 2, State: "committed", Journal: "reserved11committed13"},
					{Product: 2, Quantity: 1, State: "committed", Journal: "reserved11committed13", Number: 1},
				},
				"B": {{Product: 1, Quantity: 1, State: "restocked", Journal: "reserved21committed23restocked32"}},
			},
			Payments: map[string][]Payment{
				"A": {{1, 300, "captured", "captured12"}},
				"B": {{2, 100, "refunded", "captured22refunded33"}},
			},
			Shipments: map[string][]Shipment{"A": {{"Ann", "shipped", "shipped14", "1 Lamp Street"}},
				"B": {{"Bob", "recalled", "shipped24recalled31", "2 Lamp Street"}}},
			Stock:    []Stock{{1, 8, 0, 2, 7}, {2, 9, 0, 1, 3}},
			Accounts: []Account{{1, 700}, {2, 1000}},
			Products: []Product{{1, "thing 1", "thing 1", 100, 1}, {2, "thing 2", "thing 2", 100, 1}},
			Customers: []Customer{{1, "Ann", "1@example.org", "1 Lamp Street"},
				{2, "Bob", "2@example.org", "2 Lamp Street"}},
		},
	}
}

// fresh is a shop in which everything costs a euro.
type fresh struct{}

func (fresh) Product(id int64) shop.SeedProduct {
	return shop.SeedProduct{Name: fmt.Sprintf("thing %d", id), PriceCents: 100}
}

func (fresh) Customer(id int64) shop.SeedCustomer {
	names := []string{"nobody", "Ann", "Bob"}
	return shop.SeedCustomer{Name: names[id], Email: fmt.Sprintf("%d@example.org", id),
		Address: fmt.Sprintf("%d Lamp Street", id)}
}

// asked returns an attempt with its request.
func asked(a Attempt, customer int64, lines ...Wanted) Attempt {
	a.Asked = &Asked{Customer: customer, Lines: lines}
	return a
}

func TestGoodIsValid(t *testing.T) {
	got := Judge(good())
	if got.Verdict != lab.AuditValid || len(got.Problems) != 0 {
		t.Fatalf("%s: %v", got.Verdict, got.Problems)
	}
	want := map[string]int64{"attempts": 6, "ok": 4, "info": 1, "fail": 1, "cancels": 1, "reads": 1,
		"orders": 3, "confirmed": 1, "cancelled": 1, "rejected": 1, "undone": 2}
	for name, n := range want {
		if got.Counts[name] != n {
			t.Errorf("%s = %d, want %d", name, got.Counts[name], n)
		}
	}
}

// TestBadIsFound spoils the good trial in one way each. Long because it is a table.
func TestBadIsFound(t *testing.T) {
	type spoil func(in *Input)
	cases := []struct {
		name    string
		spoil   spoil
		verdict lab.AuditVerdict
		problem string
	}{
		{"an accepted order is gone", func(in *Input) { delete(in.State.Orders, "C") }, lab.AuditInvalid,
			`I1: key "c" was accepted and has no order`},
		{"two orders of one key",
			func(in *Input) { o := *in.State.Orders["C"]; o.ID = "D"; in.State.Orders["D"] = &o }, lab.AuditInvalid,
			`I2: key "c" has 2 orders`},
		{"charged twice", func(in *Input) {
			in.State.Payments["A"] = append(in.State.Payments["A"], Payment{1, 300, "captured", "captured12"})
		}, lab.AuditInvalid, "I2: order A has 2 payments"},
		{"shipped twice", func(in *Input) {
			in.State.Shipments["A"] = append(in.State.Shipments["A"], in.State.Shipments["A"][0])
		}, lab.AuditInvalid, "I2: order A has 2 shipments"},
		{"reserved twice", func(in *Input) {
			in.State.Reservations["A"] = append(in.State.Reservations["A"], in.State.Reservations["A"][0])
		}, lab.AuditInvalid, "I2: order A has product 1 reserved twice"},
		{"an order from nowhere", func(in *Input) { in.History = slices.Delete(in.History, 2, 3) },
			lab.AuditInvalid, `I3: order C with key "c" was never asked for`},
		{"a refused order exists", func(in *Input) { in.History[2].Outcome = OutcomeFail }, lab.AuditInvalid,
			`I3: key "c" was refused and has the order C`},
		{"an order is stuck",
			func(in *Input) { in.State.Orders["C"].State = shop.StateReserved; in.History[2].State = "" },
			lab.AuditInvalid, "I4: order C is still reserved"},
		{"a message is left", func(in *Input) { in.Left = map[string]int64{"ready messages": 3, "outbox rows": 0} },
			lab.AuditInvalid, "I4: 3 ready messages are left"},
		{"stock is reserved", func(in *Input) {
			in.State.Reservations["X"] = []Line{{Product: 2, Quantity: 4, State: "reserved", Journal: "reserved50"}}
			in.State.Stock[1] = Stock{2, 5, 4, 1, 3}
		}, lab.AuditInvalid, "I4: product 2 has 4 reserved"},
		{"money is gone", func(in *Input) { in.State.Accounts[0].BalanceCents = 600 }, lab.AuditInvalid,
			"I5: account 1: 600 balance + 300 captured are not the 1000"},
		{"refunded twice", func(in *Input) { in.State.Accounts[1].BalanceCents = 1100 }, lab.AuditInvalid,
			"I5: account 2"},
		{"too much captured", func(in *Input) { in.State.Payments["A"][0].AmountCents = 301 }, lab.AuditInvalid,
			"I5: order A of customer 1 for 300 cents was paid by 1 with 301"},
		{"a balance below zero", func(in *Input) {
			in.State.Payments["A"] = append(in.State.Payments["A"], Payment{1, 800, "captured", "captured50"})
			in.State.Accounts[0] = Account{1, -100}
		}, lab.AuditInvalid, "I5: account 1: -100 balance"},
		{"paid by another", func(in *Input) { in.State.Payments["A"][0].Customer = 2 }, lab.AuditInvalid,
			"I5: order A of customer 1"},
		{"total is wrong", func(in *Input) { in.State.Lines["A"][0].PriceCents = 99 }, lab.AuditInvalid,
			"I5: order A has a total of 300 cents and lines of 298"},
		{"an account is gone", func(in *Input) { in.State.Accounts = in.State.Accounts[:1] }, lab.AuditInvalid,
			"I5: there are 1 accounts of 2"},
		{"captured from nobody", func(in *Input) { in.State.Accounts = in.State.Accounts[1:] }, lab.AuditInvalid,
			"I5: 300 cents were captured from customer 1"},
		{"stock is gone", func(in *Input) { in.State.Stock[0].OnHand = 7 }, lab.AuditInvalid,
			"I6: product 1: 7 on hand + 0 reserved + 2 sold are not the 10"},
		{"oversold", func(in *Input) { in.State.Stock[0] = Stock{1, -2, 0, 12, 7} }, lab.AuditInvalid,
			"I6: product 1: -2 on hand"},
		{"sold is not bought", func(in *Input) { in.State.Stock[0] = Stock{1, 7, 0, 3, 7} }, lab.AuditInvalid,
			"I6: product 1: 0 reserved and 3 sold, but the orders have reserved 0 and bought 2"},
		{"reserved something else", func(in *Input) { in.State.Reservations["A"][0].Product = 2 }, lab.AuditInvalid,
			"I6: order A has lines"},
		{"confirmed without shipment", func(in *Input) { delete(in.State.Shipments, "A") }, lab.AuditInvalid,
			"I7: order A is confirmed and has no shipment"},
		{"confirmed and not paid", func(in *Input) { delete(in.State.Payments, "A") }, lab.AuditInvalid,
			"I7: order A is confirmed and has no payment"},
		{"cancelled and not refunded", func(in *Input) { in.State.Payments["B"][0].State = "captured" },
			lab.AuditInvalid, "I7: order B is cancelled and its payment is captured"},
		{"rejected and still reserved", func(in *Input) {
			in.State.Reservations["C"] = []Line{{Product: 2, Quantity: 1, State: "committed"}}
		}, lab.AuditInvalid, "I7: order C is rejected and its reservation is committed"},
		{"rejected and shipped", func(in *Input) {
			in.State.Shipments["C"] = []Shipment{{"Bob", "shipped", "shipped50", "2 Lamp Street"}}
		}, lab.AuditInvalid, "I7: order C is rejected and its shipment is shipped"},
		{"paid for nothing", func(in *Input) {
			in.State.Payments["X"] = []Payment{{1, 300, "captured", "captured50"}}
		}, lab.AuditInvalid, "I7: there is a payment that is captured for order X"},
		{"a state goes back",
			func(in *Input) { in.History[4].State = shop.StateConfirmed; in.History[3].State = shop.StateCancelled },
			lab.AuditInvalid, "I8: order B was seen cancelled (version 1) and later confirmed"},
		{"an older state after an answer that overlaps", func(in *Input) {
			slow, late := in.History[3], in.History[3]
			slow.ActualNS = 41
			slow.CompleteNS = 60
			late.ActualNS = 70
			late.CompleteNS = 75
			in.History = append(in.History, slow, late)
		}, lab.AuditInvalid, "I8: order B was seen cancelled (version 2) and later confirmed (version 1)"},
		{"a version goes back", func(in *Input) { in.History[3].Version = 3 }, lab.AuditInvalid,
			"I8: order B was seen confirmed (version 3) and later cancelled (version 2)"},
		{"a state is taken back", func(in *Input) { in.History[0].State = shop.StateRejected }, lab.AuditInvalid,
			"I8: order A was seen rejected and is confirmed"},
		{"a state nobody knows", func(in *Input) { in.State.Orders["C"].State = "lost" }, lab.AuditInvalid,
			`I8: order C has the state "lost"`},
		{"a key with two orders", func(in *Input) { in.History[5].Order = "B" }, lab.AuditInvalid,
			`I11: key "a" was answered with 2 different orders`},
		{"an answer that is not on record", func(in *Input) { in.History[0].Order, in.History[5].Order = "Z", "Z" },
			lab.AuditInvalid, `I11: key "a" was answered with order Z`},
		{"nobody said what was asked", func(in *Input) { in.History[0].Asked, in.History[5].Asked = nil, nil },
			lab.AuditUnknown, "what was asked for is not in the history of 1 orders"},
		{"nothing accepted", func(in *Input) { *in = Input{Drained: true} }, lab.AuditUnknown,
			"no order was accepted"},
		{"nothing confirmed", func(in *Input) {
			rejected := in.State.Orders["C"]
			history := in.History[2:3]
			*in = Input{Fresh: fresh{}, Drained: true, Coordination: Orchestrated, History: history,
				State: State{Orders: map[string]*Order{"C": rejected},
					Lines: map[string][]Line{"C": in.State.Lines["C"]}}}
		}, lab.AuditUnknown, "nothing was confirmed"},
		{"not waited for", func(in *Input) {
			in.Drained = false
			in.State.Orders["C"].State = shop.StatePending
			in.State.Orders["C"].TotalCents = 100
			in.State.Lines["C"][0].Name = "thing 9"
			in.State.Lines["C"][0].PriceCents = 100
			in.History[2].State = shop.StatePending
		}, lab.AuditUnknown, "1 orders are not final and were not waited for"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := good()
			c.spoil(&in)
			expectVerdict(t, in, c.verdict, c.problem)
		})
	}
}

// expectVerdict judges a trial, and wants a verdict and a problem that begins with a text. A valid trial has
// no problems, whatever the text.
func expectVerdict(t *testing.T, in Input, verdict lab.AuditVerdict, problem string) {
	t.Helper()
	got := Judge(in)
	found := slices.ContainsFunc(got.Problems, func(p string) bool { return strings.HasPrefix(p, problem) })
	if got.Verdict != verdict || found == (verdict == lab.AuditValid) {
		t.Errorf("%s: %q, want %s with %q", got.Verdict, got.Problems, verdict, problem)
	}
}

// TestHarmless: what looks odd and is right.
func TestHarmless(t *testing.T) {
	cases := map[string]func(in *Input){
		"a timeout that was carried out": func(in *Input) {
			in.History[2].Outcome = OutcomeInfo
			in.History[2].State = ""
		},
		"a rejection that undid its steps": func(in *Input) {
			in.State.Reservations["C"] = []Line{{Product: 9, Quantity: 1, State: "released",
				Journal: "reserved39released51"}}
			in.State.Payments["C"] = []Payment{{0, 0, "voided", "voided50"}}
		},
		"an order forbidden before it came": func(in *Input) {
			in.State.Payments["X"] = []Payment{{0, 0, "voided", "voided50"}}
		},
		"reads that overlap may change sides": func(in *Input) {
			in.History[4].ActualNS = 0
			in.History[3].Version = 3
			in.History[3].CompleteNS = 54
		},
		"sessions that lag behind each other": func(in *Input) {
			in.History[3].Session = "other"
			in.History[3].CompleteNS = 1000
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			in := good()
			change(&in)
			expectVerdict(t, in, lab.AuditValid, "")
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	in := good()
	for i := range 20 {
		in.State.Payments[strings.Repeat("x", i+1)] = []Payment{{1, 0, "captured", "captured50"}}
	}
	got := Judge(in)
	if len(got.Problems) != shownPerRule+1 || !slices.Contains(got.Problems, "I7: and 15 more") ||
		got.Counts["broken_i7"] != 20 {
		t.Errorf("%d counted, problems %q", got.Counts["broken_i7"], got.Problems)
	}
}

// TestProblemsComeInTheOrderOfTheRules: rule 2 before rule 11, and the rest of a rule after what is shown.
func TestProblemsComeInTheOrderOfTheRules(t *testing.T) {
	in := good()
	in.History[5].Order = "B"
	for i := range shownPerRule + 1 {
		made := *in.State.Orders["C"]
		made.ID = fmt.Sprint("D", i)
		made.Key = fmt.Sprint("new ", i)
		in.State.Orders[made.ID] = &made
	}
	in.State.Payments["A"] = append(in.State.Payments["A"], in.State.Payments["A"][0])
	got := Judge(in).Problems
	var rules []int
	for _, problem := range got {
		var rule int
		if _, err := fmt.Sscanf(problem, "I%d:", &rule); err == nil { // others say what is unknown
			rules = append(rules, rule)
		}
	}
	if !slices.IsSorted(rules) || !slices.Contains(rules, 2) || !slices.Contains(rules, 11) {
		t.Errorf("the problems %q are of the rules %v, want them sorted", got, rules)
	}
	if rest := slices.Index(got, "I3: and 1 more"); rest < 0 || strings.HasPrefix(got[rest+1], "I3") {
		t.Errorf("the problems are %q, want \"I3: and 1 more\" after the others of rule 3", got)
	}
}

// TestTheSameProblemsAreShown: an audit that is repeated names the same ones.
func TestTheSameProblemsAreShown(t *testing.T) {
	in := good()
	for i := range 20 {
		id := fmt.Sprint("X", i)
		in.State.Orders[id] = &Order{ID: id, Key: "x" + id[:2], State: shop.StatePending}
		in.State.Payments[id] = []Payment{{Customer: int64(100 + i), AmountCents: 1, State: "captured"}}
	}
	in.State.Products = nil
	in.State.KnownProducts = []Product{{ID: 1}}
	want := Judge(in).Problems
	for range 5 {
		if got := Judge(in).Problems; !slices.Equal(got, want) {
			t.Fatalf("problems %q, before %q", got, want)
		}
	}
}
