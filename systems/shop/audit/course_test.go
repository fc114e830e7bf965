package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
)

// journals puts journals into the rows of the three orders of a trial, by order and row: "A payment". The row
// of a step is made if there is none, and gets the last state of its journal. A record keeps its state, and
// gets the version that its journal leads to.
func journals(in *Input, of map[string]string) {
	for which, text := range of {
		id, what, _ := strings.Cut(which, " ")
		words := strings.FieldsFunc(text, func(r rune) bool { return r >= '0' && r <= '9' })
		state := words[len(words)-1]
		switch what {
		case "record":
			in.State.Orders[id].Journal = text
			in.State.Orders[id].Version = int64(len(slices.DeleteFunc(words, isNoState)))
		case "reservation":
			rows := in.State.Reservations
			rows[id] = orOne(rows[id])
			for i := range rows[id] {
				rows[id][i].State = state
				rows[id][i].Journal = text
			}
		case "payment":
			rows := in.State.Payments
			rows[id] = orOne(rows[id])
			rows[id][0].State = state
			rows[id][0].Journal = text
		case "shipment":
			rows := in.State.Shipments
			rows[id] = orOne(rows[id])
			rows[id][0].State = state
			rows[id][0].Journal = text
		}
	}
}

// orOne returns the rows, or an empty one where there are none.
func orOne[R any](rows []R) []R {
	if len(rows) == 0 {
		return make([]R, 1)
	}
	return rows
}

// coursesOf returns the journals in which a coordination differs from the good trial, which is orchestrated.
func coursesOf(c Coordination) map[string]string {
	switch c {
	case ACID:
		return map[string]string{"A record": "confirmed10", "B record": "confirmed20cancelled30",
			"C record": "rejected40"}
	case Choreographed:
		return map[string]string{
			"A record": "pending10confirmed15", "A reservation": "reserved11committed16",
			"B record": "pending20confirmed25cancelled30", "B reservation": "reserved21committed33restocked33",
			"B payment": "captured22refunded31", "B shipment": "shipped24recalled34",
			"C record": "pending36rejected60",
		}
	}
	return nil
}

// TestGoodCourses: what a transaction, calls and events may leave behind. Package twophase tests two-phase
// commits.
func TestGoodCourses(t *testing.T) {
	for name, c := range map[string]struct {
		coordination Coordination
		journals     map[string]string
	}{
		"in one transaction": {ACID, nil},
		"driven":             {Orchestrated, nil},
		"with events":        {Choreographed, nil},
		"rejected, nothing was reserved": {Orchestrated,
			map[string]string{"C payment": "voided50", "C reservation": "released51"}},
		"rejected, it was reserved": {Orchestrated,
			map[string]string{"C payment": "voided50", "C reservation": "reserved37released51"}},
		"refused by the payments": {Choreographed,
			map[string]string{"C payment": "voided50", "C reservation": "reserved38released61"}},
		"refused by the stock": {Choreographed,
			map[string]string{"C reservation": "released39"}},
		"cancelled by a request that had waited for the row": {Orchestrated,
			map[string]string{"B record": "pending20confirmed25cancelled23undone34"}},
		"turned by a coordinator that had waited for the row": {Orchestrated,
			map[string]string{"C record": "pending36turned40rejected35"}},
		"cancelled by a statement that waited for all": {ACID,
			map[string]string{"B record": "confirmed20cancelled21"}},
		"cancelled by a statement that waited for the row": {Choreographed,
			map[string]string{"B record": "pending20confirmed25cancelled19"}},
		"steps at the same moment": {Orchestrated, map[string]string{
			"B record": "pending20confirmed20cancelled20undone20", "B reservation": "reserved20committed20restocked20",
			"B payment": "captured20refunded20", "B shipment": "shipped20recalled20",
		}},
	} {
		in := good()
		in.Coordination = c.coordination
		journals(&in, coursesOf(c.coordination))
		journals(&in, c.journals)
		if got := Judge(in); got.Verdict != lab.AuditValid || got.Counts["compensations"] < 3 {
			t.Errorf("%s: %s: %q, %d compensations", name, got.Verdict, got.Problems, got.Counts["compensations"])
		}
	}
}

// TestBadCoursesAreFound: every row ends as it must, only not in that order. Long because it is a table.
func TestBadCoursesAreFound(t *testing.T) {
	const (
		early     = "a step before the one that it depends on"
		unordered = "compensations not in the reverse order of their steps"
	)
	for name, c := range map[string]struct {
		coordination Coordination
		journals     map[string]string
		problem      string
	}{
		"a recall of nothing": {Orchestrated, map[string]string{"B shipment": "recalled31"},
			`I7: order B: its shipment was recalled first of all: a compensation without its step (an empty rollback)`},
		"a refund of nothing": {Orchestrated, map[string]string{"B payment": "refunded33"},
			`I7: order B: its payment was refunded first of all: a compensation without its step (an empty rollback)`},
		"a restock of what is not sold": {ACID, map[string]string{"B reservation": "reserved21restocked32"},
			`I7: order B: its reservation was restocked when it was reserved: a compensation without its step (an empty rollback)`},
		"a late step, undone once more": {Orchestrated,
			map[string]string{"B shipment": "shipped24recalled31shipped32recalled33"},
			"I7: order B: its shipment was shipped when it was recalled: a step after its compensation"},
		"a late step of what never came": {Orchestrated,
			map[string]string{"C payment": "voided50captured51voided52"},
			"I7: order C: its payment was captured when it was voided: a step after its compensation"},
		"refunded twice": {Choreographed, map[string]string{"B payment": "captured22refunded33refunded34"},
			"I7: order B: its payment was refunded when it was refunded: compensated twice"},
		"released and restocked": {Orchestrated,
			map[string]string{"B reservation": "reserved21released31restocked32"},
			"I7: order B: its reservation was restocked when it was released: compensated twice"},
		"sold and never reserved": {ACID, map[string]string{"A reservation": "committed13"},
			`I7: order A: its reservation was committed first of all: without the step that comes before it, or twice`},
		"captured twice": {Orchestrated, map[string]string{"A payment": "captured12captured13"},
			`I7: order A: its payment was captured when it was captured: without the step that comes before it, or twice`},
		"an unknown word": {Orchestrated, map[string]string{"A shipment": "lost13shipped14"},
			`I7: order A: its shipment was lost first of all: without the step that comes before it, or twice`},
		"undone from the first on": {Orchestrated, map[string]string{"B shipment": "shipped24recalled33",
			"B payment": "captured22refunded31"}, "I7: order B was restocked 1 µs before it was recalled: " +
			unordered},
		"refunded before it is restocked": {ACID,
			map[string]string{"B reservation": "reserved21committed23restocked32", "B payment": "captured22refunded31",
				"B shipment": "shipped24recalled31"},
			"I7: order B was refunded 1 µs before it was restocked: " + unordered},
		"the stock is released first": {Choreographed,
			map[string]string{"C payment": "voided50", "C reservation": "reserved38released49"},
			"I7: order C was released 1 µs before it was voided: " + unordered},
		"paid before it is reserved": {ACID, map[string]string{"A reservation": "reserved13committed13"},
			"I7: order A was captured 1 µs before it was reserved: " + early},
		"shipped before it is paid": {Choreographed, map[string]string{"A shipment": "shipped11"},
			"I7: order A was shipped 1 µs before it was captured: " + early},
		"reserved before it is taken": {Orchestrated, map[string]string{"A reservation": "reserved9committed13"},
			"I7: order A was reserved 1 µs before it was pending: " + early},
		"confirmed before it is shipped": {Orchestrated, map[string]string{"A record": "pending10confirmed13"},
			"I7: order A was confirmed 1 µs before it was shipped: " + early},
		"undone before it is cancelled": {Choreographed, map[string]string{"B payment": "captured22refunded29"},
			"I7: order B was refunded 1 µs before it was cancelled: " + early},
		"undone before it is decided": {Orchestrated, map[string]string{"C payment": "voided39"},
			"I7: order C was voided 1 µs before it was turned: " + early},
		"over before it is undone": {Orchestrated,
			map[string]string{"B record": "pending20confirmed25cancelled30undone32"},
			"I7: order B was undone 1 µs before it was refunded: " + early},
		"rejected, and then turned": {Orchestrated, map[string]string{"C record": "pending36rejected40turned41"},
			"I7: order C: by its record it was rejected before it was turned: " + early},
		"confirmed twice": {Orchestrated, map[string]string{"A record": "pending10confirmed15confirmed16"},
			"I8: order A was confirmed and then became confirmed"},
		"a state that goes back": {Orchestrated,
			map[string]string{"A record": "pending10confirmed15pending16confirmed17"},
			"I8: order A was confirmed and then became pending"},
	} {
		t.Run(name, func(t *testing.T) {
			in := good()
			in.Coordination = c.coordination
			journals(&in, coursesOf(c.coordination))
			journals(&in, c.journals)
			if got := Judge(in); got.Verdict != lab.AuditInvalid || !slices.Equal(got.Problems, []string{c.problem}) {
				t.Errorf("%s: %q, want invalid with %q alone", got.Verdict, got.Problems, c.problem)
			}
		})
	}
}

// TestClocksOfHosts: steps of different rows are out of order only if their times differ by more than the
// clocks of the hosts may. Steps of one row are in the order of its journal, whatever the clocks say.
func TestClocksOfHosts(t *testing.T) {
	early := map[string]string{"A payment": "captured5"} // it was reserved at 11
	for name, c := range map[string]struct {
		apart    time.Duration
		journals map[string]string
		verdict  lab.AuditVerdict
		within   int64
	}{
		"one clock":                {0, early, lab.AuditInvalid, 0},
		"clocks differ by less":    {5 * time.Microsecond, early, lab.AuditInvalid, 0},
		"clocks differ by as much": {6 * time.Microsecond, early, lab.AuditValid, 1},
		"one row": {time.Hour, map[string]string{"C record": "pending36rejected40turned41"},
			lab.AuditInvalid, 0},
	} {
		in := good()
		in.ClocksApart = c.apart
		journals(&in, c.journals)
		got := Judge(in)
		if got.Verdict != c.verdict || got.Counts["steps_within_clocks"] != c.within {
			t.Errorf("%s: %s: %q, %d pairs of steps within the clocks", name, got.Verdict, got.Problems,
				got.Counts["steps_within_clocks"])
		}
	}
}

// TestLinesMoveTogether: an order's reservation is one step, of several rows.
func TestLinesMoveTogether(t *testing.T) {
	in := good()
	in.State.Reservations["A"][1].Journal = "reserved11committed14"
	expectVerdict(t, in, lab.AuditInvalid, "I7: order A: the lines of its reservation were not moved together: "+
		"reserved11committed13, reserved11committed14")
}

// TestWithoutEvidenceNothingIsKnown: what the journals do not prove is not valid.
func TestWithoutEvidenceNothingIsKnown(t *testing.T) {
	const of = "in which order 1 steps came is unknown; order "
	for name, c := range map[string]struct {
		spoil func(in *Input)
		says  string
	}{
		"a system without journals": {func(in *Input) { in.State.Payments["A"][0].Journal = "" },
			of + `A: the payment is captured, its journal says ""`},
		"an order without one": {func(in *Input) { in.State.Orders["C"].Journal = "" },
			of + `C: the record is rejected, its journal says ""`},
		"the last entry is missing": {func(in *Input) { in.State.Shipments["B"][0].Journal = "shipped24" },
			of + `B: the shipment is recalled, its journal says "shipped24"`},
		"no moment": {func(in *Input) { in.State.Shipments["A"][0].Journal = "shipped" },
			of + `A: the journal "shipped" is torn`},
		"no word": {func(in *Input) { in.State.Shipments["A"][0].Journal = "14shipped15" },
			of + `A: the journal "14shipped15" is torn`},
		"too long a moment": {func(in *Input) {
			in.State.Shipments["A"][0].Journal = "shipped99999999999999999999"
		}, of + "A: the journal"},
		"an unknown coordination": {func(in *Input) { in.Coordination = "" },
			`in which order steps must come is unknown of the coordination ""`},
	} {
		t.Run(name, func(t *testing.T) {
			in := good()
			c.spoil(&in)
			expectVerdict(t, in, lab.AuditUnknown, c.says)
		})
	}
}

// TestForbiddenBeforeItCame: a compensation may be the only entry of its row, to forbid a step that has not
// come yet. It is a mistake if the order was confirmed before, or if the row has moved something.
func TestForbiddenBeforeItCame(t *testing.T) {
	for state, want := range map[shop.State]lab.AuditVerdict{shop.StateRejected: lab.AuditValid,
		shop.StateCancelled: lab.AuditInvalid} {
		in := good()
		in.State.Shipments["C"] = []Shipment{{"", "recalled", "recalled50", ""}}
		if state == shop.StateCancelled {
			in.State.Shipments["B"] = []Shipment{{"", "recalled", "recalled31", ""}}
		}
		expectVerdict(t, in, want, "")
	}
	in := good()
	in.State.Payments["C"] = []Payment{{2, 100, "voided", "voided50"}}
	expectVerdict(t, in, lab.AuditInvalid, "")
}
