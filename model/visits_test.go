package model

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestStatementsThatFollowAreVisits: they are work at a store like all others.
func TestStatementsThatFollowAreVisits(t *testing.T) {
	m, _ := made(t, Evidence{Traces: []*lab.SpanNode{serves(span("shop", "order", code, 0, 100,
		async(span("shop", "INSERT log", database, 110, 160))))}})
	visits := m.Operations[0].Call.Visits
	if len(visits) != 1 || visits[0].Statements != 1 {
		t.Fatalf("visits %+v, want one with a statement", visits)
	}
	expectTime(t, "the statement", visits[0].Wait, 50)
}

// TestAServersCPUGoesToItsVisits in proportion to their time.
func TestAServersCPUGoesToItsVisits(t *testing.T) {
	visits := func() *lab.SpanNode {
		return span("shop", "GET /", code, 0, 500, span("shop", "SELECT a", database, 100, 200),
			inComponent("stock", span("shop", "Stock", code, 200, 500,
				span("shop", "SELECT b", database, 200, 500))))
	}
	m, _ := made(t, Evidence{Name: "served", Traces: []*lab.SpanNode{visits(), visits()},
		CPU: map[string]float64{"shop": 100e-6, "database": 60e-6},
		StoreOf: func(_, _ string, _ *lab.SpanNode) Store {
			return Store{Name: "database", Kind: "mariadb", Server: true}
		}})
	front := m.Operations[0].Call
	expectTime(t, "the first visit", front.Visits[0].CPU, 15)
	expectTime(t, "the second visit", front.Calls[0].Visits[0].CPU, 45)
}

// TestVisitsOfNoTimeHaveNoCPU: a visit whose spans last 0 s gets none of its server's CPU time. If that is so
// of all visits, a note says that the CPU time is in no call.
func TestVisitsOfNoTimeHaveNoCPU(t *testing.T) {
	for name, c := range map[string]struct {
		length, cpu float64 // of the other visit, in microseconds
		notes       int
	}{"one of two": {100, 60, 0}, "all": {0, 0, 1}} {
		end := 100 + int64(c.length)
		trace := span("shop", "GET /", code, 0, 500, span("shop", "SELECT a", database, 100, end),
			inComponent("stock", span("shop", "Stock", code, 200, 500,
				span("shop", "SELECT b", database, 500, 500))))
		m, notes := made(t, Evidence{Name: "instant", Traces: []*lab.SpanNode{trace},
			CPU: map[string]float64{"shop": 100e-6, "shop-database": 60e-6}})
		front := m.Operations[0].Call
		expectTime(t, name+": the other visit", front.Visits[0].CPU, c.cpu)
		expectTime(t, name+": the visit of 0 s", front.Calls[0].Visits[0].CPU, 0)
		if len(notes) != c.notes {
			t.Errorf("%s: notes %q, want %d", name, notes, c.notes)
		}
	}
}

// TestAChangeOutsideOfATransactionIsACommit, if spans show the transactions.
func TestAChangeOutsideOfATransactionIsACommit(t *testing.T) {
	trace := func() *lab.SpanNode {
		return span("shop", "GET /", code, 0, 900, span("shop", "INSERT a", database, 0, 100),
			span("shop", "BEGIN", database, 100, 110), span("shop", "UPDATE a", database, 110, 200),
			inComponent("stock", span("shop", "Stock", code, 200, 500,
				span("shop", "DELETE b", database, 200, 500))),
			span("shop", "COMMIT", database, 500, 700), span("shop", "DELETE a", database, 700, 900))
	}
	for transactions, want := range map[bool]string{true: "3 3, 1 0", false: "3 1, 1 0"} {
		m, _ := made(t, Evidence{Name: "changes", Traces: []*lab.SpanNode{trace(), trace()},
			Transactions: transactions})
		own, below := m.Operations[0].Call.Visits[0], m.Operations[0].Call.Calls[0].Visits[0]
		got := fmt.Sprintf("%g %g, %g %g", own.Statements, own.Commits, below.Statements, below.Commits)
		if got != want {
			t.Errorf("transactions %t: statements and commits are %s, want %s", transactions, got, want)
		}
	}
}

// TestStatementsOfAnUnknownDatabase belong to a database of the unit, whatever their names are. A transaction
// without statements takes its time there, too.
func TestStatementsOfAnUnknownDatabase(t *testing.T) {
	idle := span("shop", "GET /", code, 0, 500, span("shop", "BEGIN", database, 100, 200),
		span("shop", "ROLLBACK", database, 200, 300))
	m, _ := made(t, Evidence{Name: "idle", Traces: []*lab.SpanNode{idle}})
	if v := m.Operations[0].Call.Visits; len(v) != 1 || v[0].Statements != 0 || v[0].Wait.Mean != 2e5 {
		t.Errorf("a transaction without statements: %+v, want its 200 us", v)
	}

	copied := span("shop", "GET /", code, 0, 500, span("shop", "COPY prices to archive", database, 100, 200),
		span("shop", "rollback to before", database, 200, 300))
	m, _ = made(t, Evidence{Name: "copied", Traces: []*lab.SpanNode{copied}})
	if v := m.Operations[0].Call.Visits; len(v) != 1 || v[0].Store != "shop-database" || v[0].Statements != 2 {
		t.Errorf("statements of a database that no span names: %+v, want two of shop-database", v)
	}
}
