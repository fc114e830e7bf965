package steps_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop/steps"
)

// word returns the state into which a step brings a row.
func word(step string) string {
	return map[string]string{
		"reserve": "reserved", "commit": "committed", "release": "released", "restock": "restocked",
		"charge": "captured", "void": "voided", "refund": "refunded", "ship": "shipped",
		"recall": "recalled",
	}[step]
}

// wordsOf returns the words of a journal. Their moments must be of the host's clock.
func wordsOf(t *testing.T, journal string) []string {
	t.Helper()
	now := momentOf(t, steps.Entry("now"))
	var words []string
	first := now - 10*60*1_000_000
	for _, entry := range regexp.MustCompile(`[a-z]+\d*`).FindAllString(journal, -1) {
		at := momentOf(t, entry)
		if at < first || at > now {
			t.Errorf("journal %s: %s is at %d, want it from %d to %d", journal, entry, at, first, now)
		}
		words = append(words, regexp.MustCompile(`^[a-z]+`).FindString(entry))
	}
	return words
}

// momentOf returns the time of an entry, in microseconds since 1970.
func momentOf(t *testing.T, entry string) int64 {
	t.Helper()
	at, err := strconv.ParseInt(regexp.MustCompile(`\d*$`).FindString(entry), 10, 64)
	if err != nil {
		t.Fatalf("entry %q: %v", entry, err)
	}
	return at
}

// TestMomentsOfTwoHosts: an entry that is made on a host which was started on another day, as a
// time namespace has it, follows one that was made here before, and not by a day.
func TestMomentsOfTwoHosts(t *testing.T) {
	const there = "CLEAVE_ENTRY_THERE"
	if os.Getenv(there) != "" {
		fmt.Println(steps.Entry("there"))
		return
	}
	for _, offset := range []string{"-3600", "86400"} {
		host := []string{"--time", "--monotonic", offset, "--boottime", offset, "--fork"}
		if said, err := exec.Command("unshare", append(host, "true")...).CombinedOutput(); err != nil {
			t.Skipf("unshare %v: %v: %s", host, err, said)
		}
		other := exec.Command("unshare", append(host, os.Args[0], "-test.run", "^TestMomentsOfTwoHosts$")...)
		other.Env = append(os.Environ(), there+"=yes")
		before := momentOf(t, steps.Entry("here"))
		said, err := other.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		at := momentOf(t, regexp.MustCompile(`there\d+`).FindString(string(said)))
		if after := momentOf(t, steps.Entry("here")); at < before || at > after {
			t.Errorf("between %d and %d the other host made an entry at %d", before, after, at)
		}
	}
}

// expectJournal wants one entry for each step that changed something: not one that
// came before, and not the last where it was refused.
func (p parts) expectJournal(t *testing.T, order string, taken []string, refused bool) {
	t.Helper()
	var want []string
	if refused {
		taken = taken[:len(taken)-1]
	}
	for _, step := range taken {
		if !slices.Contains(want, word(step)) {
			want = append(want, word(step))
		}
	}
	var got []string
	for _, from := range []struct {
		db    *database.DB
		table string
	}{{p.stock, "reservations"}, {p.accounts, "payments"}, {p.parcels, "shipments"}} {
		var journals []string
		err := from.db.Each(t.Context(), func(row database.Row) error {
			var journal string
			err := row.Scan(&journal)
			journals = append(journals, journal)
			return err
		}, "SELECT journal FROM "+from.table+" WHERE order_id = ?", order)
		testset.Must(t, err)
		for _, journal := range slices.Compact(journals) { // one: all lines say the same
			got = append(got, wordsOf(t, journal)...)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the journal of %s says %v, want %v", order, got, want)
	}
}

// expectJournals wants, in the journals of orders that went through a shop together,
// the words of those that went one by one.
func expectJournals(t *testing.T, together, oneByOne *whole) {
	t.Helper()
	got := together.journals(t)
	want := oneByOne.journals(t)
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d journals, want %d", len(got), len(want))
	}
	for row, words := range want {
		if !slices.Equal(got[row], words) {
			t.Errorf("the journal of %s says %v, want %v", row, got[row], words)
		}
	}
}

// journals returns the words of all journals, by table and row.
func (w *whole) journals(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for table, key := range map[string]string{"orders": "order_id, 0", "reservations": "order_id, line",
		"payments": "order_id, 0", "shipments": "order_id, 0"} {
		err := w.db.Each(t.Context(), func(row database.Row) error {
			var order, line, journal string
			err := row.Scan(&order, &line, &journal)
			found[table+" "+order+" "+line] = wordsOf(t, journal)
			return err
		}, "SELECT "+key+", journal FROM "+table)
		testset.Must(t, err)
	}
	return found
}
