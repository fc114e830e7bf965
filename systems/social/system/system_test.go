package system

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/graph"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
)

// played returns a generator that has made ten requests.
func played() *loadedtest.Generator {
	return &loadedtest.Generator{Report: lab.LoadReport{Sent: 10, OK: 10, Duration: 1,
		Measures: []lab.Measure{{Quantity: lab.ResponseTime, Quantile: 0.5, Value: 0.002}}}}
}

// trial holds the evidence of a made-up trial: a small network, its stores, and the history of its
// clients.
type trial struct {
	design  architecture.Design
	people  *population.Population
	point   lab.Point
	address string
	left    lab.Leftover
	knobs   map[string]string
	lines   []string // of the history
	now     int      // nanoseconds since the load began
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	design, err := architecture.New(architecture.Monolith, nil)
	testset.Must(t, err)
	tr := &trial{design: design, address: "sqlite://" + t.TempDir(),
		point: lab.Point{Levels: map[string]float64{Users: 20, Links: 40, lab.FactorRate: 10}}}
	tr.people, err = population.New(sizeOf(tr.point))
	testset.Must(t, err)
	testset.Must(t, socialunit.Fill(t.Context(), design, tr.address, tr.people))
	tr.left = loadedtest.Left(t)
	tr.left.Addresses = map[string]string{socialunit.ServiceDocuments: tr.address}
	return tr
}

// note adds a line to the history. Operations start every 10 ns and take 5 ns.
func (tr *trial) note(operation, end string, notes map[string]string) {
	tr.now += 10
	noted, _ := json.Marshal(notes) // strings cannot fail
	tr.lines = append(tr.lines,
		fmt.Sprintf(`{"operation":%q,"end":%q,"sent_ns":%d,"finished_ns":%d,"begun_unix_ns":1000,"noted":%s}`,
			operation, end, tr.now, tr.now+5, noted))
}

// reads adds a read of the first page of a timeline to the history.
func (tr *trial) reads(operation string, user int, ids ...string) {
	text, _ := json.Marshal(append([]string{}, ids...)) // strings cannot fail
	tr.note(operation, loaded.EndedOK, map[string]string{"user.id": fmt.Sprint(user), "start": "0",
		"ids": string(text)})
}

// open opens the store of a component until the test ends.
func (tr *trial) open(t *testing.T, part string) document.Store {
	t.Helper()
	store, err := socialunit.OpenStore(t.Context(), tr.address, part)
	testset.Must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// put writes documents into the store of a component.
func (tr *trial) put(t *testing.T, part string, documents map[string]string) {
	t.Helper()
	store := tr.open(t, part)
	for id, body := range documents {
		if _, err := store.Upsert(t.Context(), socialunit.CollectionOf(part).Name,
			document.Document{ID: id, Version: 1, Body: json.RawMessage(body)}); err != nil {
			t.Fatal(err)
		}
	}
}

// posts stores a post and its entries in timelines. Before that spoil, unless nil, changes the entries of
// user timelines and home timelines.
func (tr *trial) posts(t *testing.T, id string, author int, spoil func(user, home map[string]string)) {
	t.Helper()
	tr.put(t, parts.PostsName, map[string]string{id: fmt.Sprintf(`{"id":%q,"author":{"id":"%d"}}`, id, author)})
	user := map[string]string{entryID(id, author): ownerOf(author)}
	home := map[string]string{}
	for _, follower := range tr.people.Friends[author] {
		home[entryID(id, follower)] = ownerOf(follower)
	}
	if spoil != nil {
		spoil(user, home)
	}
	tr.put(t, parts.UserTimelinesName, user)
	tr.put(t, parts.HomeTimelinesName, home)
}

func entryID(id string, owner int) string { return fmt.Sprintf("%s.%d", id, owner) }
func ownerOf(owner int) string            { return fmt.Sprintf(`{"owner":"%d"}`, owner) }
func idOf(n int) string                   { return fmt.Sprintf("%016x", n) }

// audit writes the history to a file and audits the trial.
func (tr *trial) audit(t *testing.T) lab.Audit {
	t.Helper()
	tr.left.Dir = loadedtest.Left(t, tr.lines...).Dir
	return System{Generator: played()}.AuditLive(context.Background(),
		lab.Variant{Architecture: architecture.Monolith, Knobs: tr.knobs}, tr.point, tr.left)
}

// TestPlantedFaultsAreFound plants each fault in a trial of its own; a trial without one is valid.
// Long because each fault is a trial.
func TestPlantedFaultsAreFound(t *testing.T) {
	const author = 1
	acknowledged := func(tr *trial, n int) {
		tr.note(compose, loaded.EndedOK, map[string]string{"user.id": fmt.Sprint(author), "id": idOf(n)})
	}
	for name, c := range map[string]struct {
		plant func(t *testing.T, tr *trial, follower, stranger int)
		count string // what is broken; empty: nothing
	}{
		"all is right": {func(t *testing.T, tr *trial, follower, stranger int) {
			tr.posts(t, idOf(1), author, nil)
			acknowledged(tr, 1)
			tr.reads(readHome, follower, idOf(1))
			tr.reads(readHome, stranger)
			tr.reads(readUser, author, idOf(1))
		}, ""},
		"a lost post": {func(_ *testing.T, tr *trial, _, stranger int) {
			acknowledged(tr, 1)
			tr.reads(readHome, stranger)
		}, countLost},
		"a lost fan-out": {func(t *testing.T, tr *trial, follower, stranger int) {
			tr.posts(t, idOf(1), author, func(_, home map[string]string) { delete(home, entryID(idOf(1), follower)) })
			acknowledged(tr, 1)
			tr.reads(readHome, stranger)
		}, countLost},
		"not in the author's timeline": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, func(user, _ map[string]string) { clear(user) })
			acknowledged(tr, 1)
			tr.reads(readHome, stranger)
		}, countLost},
		"a wrong follower": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, func(_, home map[string]string) {
				home[entryID(idOf(1), stranger)] = ownerOf(stranger)
			})
			acknowledged(tr, 1)
			tr.reads(readHome, stranger)
		}, countMisplaced},
		"in another's timeline": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, func(user, _ map[string]string) {
				user[entryID(idOf(1), stranger)] = ownerOf(stranger)
			})
			acknowledged(tr, 1)
			tr.reads(readHome, stranger)
		}, countMisplaced},
		"a doubled post": {func(t *testing.T, tr *trial, follower, _ int) {
			tr.posts(t, idOf(1), author, nil)
			tr.posts(t, idOf(2), author, nil)
			acknowledged(tr, 1)
			tr.reads(readHome, follower, idOf(2), idOf(1))
		}, countMadeUp},
		"a refused post": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, nil)
			tr.note(compose, loaded.EndedFail, map[string]string{"user.id": fmt.Sprint(author)})
			tr.reads(readHome, stranger)
		}, countMadeUp},
		"a post of unknown outcome": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, func(_, home map[string]string) { clear(home) })
			tr.note(compose, loaded.EndedInfo, map[string]string{"user.id": fmt.Sprint(author)})
			tr.reads(readHome, stranger)
		}, ""},
		"a link that nobody ended": {func(t *testing.T, tr *trial, follower, stranger int) {
			store := tr.open(t, parts.SocialGraphName)
			edge := graph.EdgeDocument(fmt.Sprint(follower), fmt.Sprint(author))
			edge.Version = 2
			edge.Body = json.RawMessage("{}")
			if _, err := store.Upsert(t.Context(), graph.EdgesCollection.Name, edge); err != nil {
				t.Fatal(err)
			}
			tr.reads(readHome, stranger)
		}, countLost},
		"a link that nobody made": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.put(t, parts.SocialGraphName, map[string]string{fmt.Sprintf("%d>%d", stranger, author): fmt.Sprintf(
				`{"follower":"%d","followee":"%d"}`, stranger, author)})
			tr.reads(readHome, stranger)
		}, countMadeUp},
		"a stale read": {func(t *testing.T, tr *trial, follower, _ int) {
			tr.posts(t, idOf(1), author, nil)
			acknowledged(tr, 1)
			tr.reads(readHome, follower)
		}, countShort},
		"a full read of old posts": {func(t *testing.T, tr *trial, follower, _ int) {
			var ids []string
			for n := 1; n <= pageSize+1; n++ {
				tr.posts(t, idOf(n), author, nil)
				acknowledged(tr, n)
				ids = append([]string{idOf(n)}, ids...)
			}
			tr.reads(readHome, follower, ids[1:]...)
		}, countShort},
		"a read out of order": {func(t *testing.T, tr *trial, follower, _ int) {
			tr.posts(t, idOf(1), author, nil)
			tr.posts(t, idOf(2), author, nil)
			acknowledged(tr, 1)
			acknowledged(tr, 2)
			tr.reads(readHome, follower, idOf(1), idOf(2))
		}, countWrong},
		"a read of what is not for them": {func(t *testing.T, tr *trial, _, stranger int) {
			tr.posts(t, idOf(1), author, nil)
			acknowledged(tr, 1)
			tr.reads(readHome, stranger, idOf(1))
		}, countWrong},
		"a read of what there is not": {func(_ *testing.T, tr *trial, _, stranger int) {
			tr.reads(readHome, stranger, idOf(7))
		}, countWrong},
		"a read before it was posted": {func(t *testing.T, tr *trial, follower, _ int) {
			tr.posts(t, idOf(1), author, nil)
			tr.reads(readHome, follower, idOf(1))
			acknowledged(tr, 1)
		}, countWrong},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t)
			follower := tr.people.Friends[author][0]
			stranger := 0
			for u := 2; u <= tr.people.Users; u++ {
				if !tr.people.Follows(u, author) {
					stranger = u
				}
			}
			c.plant(t, tr, follower, stranger)
			audit := tr.audit(t)
			want := lab.AuditValid
			if c.count != "" {
				want = lab.AuditInvalid
			}
			if audit.Verdict != want {
				t.Errorf("the verdict is %s: %q", audit.Verdict, audit.Problems)
			}
			for _, rule := range rules() {
				if (audit.Counts[rule] > 0) != (rule == c.count) {
					t.Errorf("%s is %d: %q", rule, audit.Counts[rule], audit.Problems)
				}
			}
		})
	}
}

// TestReadsMayBeStaleWhereEventsFillTimelines: staleness is measured and breaks no rule; a post that
// never arrives does.
func TestReadsMayBeStaleWhereEventsFillTimelines(t *testing.T) {
	tr := newTrial(t)
	tr.knobs = map[string]string{"fan_out_by": "events"}
	follower := tr.people.Friends[1][0]
	for n := 1; n <= 2; n++ {
		tr.posts(t, idOf(n), 1, nil)
		tr.note(compose, loaded.EndedOK, map[string]string{"user.id": "1", "id": idOf(n)})
	}
	tr.reads(readHome, follower, idOf(1))
	tr.reads(readHome, follower, idOf(2), idOf(1))
	audit := tr.audit(t)
	if audit.Verdict != lab.AuditValid || audit.Counts[countStale] != 1 || audit.Counts[countShort] != 0 {
		t.Errorf("%s, %d stale, %d short: %q; want valid and one stale", audit.Verdict, audit.Counts[countStale],
			audit.Counts[countShort], audit.Problems)
	}
	values := map[string]float64{}
	if err := measureStaleness(values, lab.Variant{Architecture: architecture.Monolith, Knobs: tr.knobs},
		tr.point, tr.left); err != nil {
		t.Fatal(err)
	}
	// The second post was acknowledged 5 ns before the first read was sent.
	if values["stale_share"] != 0.5 || math.Abs(values["staleness_max"]-5e-9) > 1e-12 {
		t.Errorf("measured %v, want a half of the reads stale by 5 ns", values)
	}
	tr.posts(t, idOf(3), 1, func(_, home map[string]string) { delete(home, entryID(idOf(3), follower)) })
	tr.note(compose, loaded.EndedOK, map[string]string{"user.id": "1", "id": idOf(3)})
	if audit := tr.audit(t); audit.Counts[countLost] != 1 {
		t.Errorf("an event that was lost: %s, %d lost", audit.Verdict, audit.Counts[countLost])
	}
}

// TestACheckShowsEveryRule: a variant that breaks one is not valid, and its row must say why.
func TestACheckShowsEveryRule(t *testing.T) {
	for _, rule := range rules() {
		if !slices.ContainsFunc(System{}.CheckTable().Columns,
			func(c lab.CheckColumn) bool { return c.Count == rule }) {
			t.Errorf("the table of a check has no column %s", rule)
		}
	}
}

// TestAnAuditWithoutEvidenceIsUnknown: with no read, and with no login where only logins are played.
func TestAnAuditWithoutEvidenceIsUnknown(t *testing.T) {
	tr := newTrial(t)
	if audit := tr.audit(t); audit.Verdict != lab.AuditUnknown {
		t.Errorf("the audit of nothing is %+v", audit)
	}
	tr.point.Levels[Only] = onlyLogins
	for end, want := range map[string]lab.AuditVerdict{loaded.EndedFail: lab.AuditUnknown,
		loaded.EndedOK: lab.AuditValid} {
		tr.lines = nil
		tr.note(logIn, end, nil)
		if audit := tr.audit(t); audit.Verdict != want {
			t.Errorf("the audit of a login that ended with %s is %+v", end, audit)
		}
	}
}
