package socialunit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

// TestAHotUser: a post of a user with thousands of followers reaches all of them.
func TestAHotUser(t *testing.T) {
	const users = 2500
	people := &population.Population{Users: users, Friends: make([][]int, users+1)}
	for u := 2; u <= users; u++ {
		people.Friends[1] = append(people.Friends[1], u)
		people.Friends[u] = []int{1}
	}
	n := start(t, architecture.Monolith, nil, people)
	id := n.compose(t, 1, "to all of you")
	for _, user := range []int{2, 999, 1000, 1001, 1002, 2001, users} { // around the ends of pages of followers
		if got := n.timeline(t, fmt.Sprintf("/home-timelines/%d", user)); !slices.Equal(got, []string{id}) {
			t.Errorf("user %d reads %v", user, got)
		}
	}
}

// TestAMonolithHasReplicas: each makes ids of its own and reads the posts of the other.
func TestAMonolithHasReplicas(t *testing.T) {
	first := start(t, architecture.Monolith, nil, peopleOf(t, 3, 1))
	design, err := architecture.New(architecture.Monolith, nil)
	testset.Must(t, err)
	u, err := Open(t.Context(), design, social.Name, Place{Documents: first.documents, Key: testKey})
	testset.Must(t, err)
	defer func() { _ = u.Close() }()
	server := httptest.NewServer(u.Handler())
	defer server.Close()
	second := network{base: server.URL}
	makers := map[string]bool{}
	for i := range 10 {
		for _, replica := range []network{first, second} {
			id := replica.compose(t, 1, fmt.Sprint("post ", i))
			makers[id[len(id)-3:]] = true
		}
	}
	if len(makers) != 2 {
		t.Errorf("the ids of two replicas have %d makers", len(makers))
	}
	const all = "/user-timelines/1?count=50"
	one := first.timeline(t, all)
	other := second.timeline(t, all)
	if len(one) != 20 || !slices.Equal(one, other) {
		t.Errorf("of 20 posts one replica reads %v, the other %v", one, other)
	}
}

// TestUnitsLogRequests: composing a post writes a line to the log of every unit.
func TestUnitsLogRequests(t *testing.T) {
	people := peopleOf(t, 3, 1)
	var logged hostingtest.Output
	units := map[string]bool{}
	n := startWith(t, architecture.Services, map[string]string{kit.KnobLogging: kit.LogRequests}, people,
		func(u *Unit) {
			if u.Log == nil {
				t.Fatalf("unit %s has no log", u.Name)
			}
			u.Log = requestlog.New(&logged, u.Name)
			units[u.Name] = true
		})
	n.compose(t, 1, "@user_2 has http://a.example/b")
	for unit := range units {
		if !strings.Contains(logged.String(), `"unit":"`+unit+`"`) {
			t.Errorf("unit %s has logged nothing", unit)
		}
	}
	if want := `"operation":"POST /posts","status":201`; !strings.Contains(logged.String(), want) {
		t.Errorf("no line has %s: %s", want, logged.String())
	}
}

// TestPostsAreTraced through all units: the trace has the same calls over each binding and with each
// placement.
func TestPostsAreTraced(t *testing.T) {
	people := peopleOf(t, 3, 1)
	want := []string{"compose Composer/Compose", "front POST /posts", "home-timelines HomeTimelines/Add",
		"media Media/Attach", "posts Posts/Store", "short-urls ShortURLs/Shorten",
		"social-graph SocialGraph/Followers", "texts Texts/Prepare", "unique-ids UniqueIDs/Next",
		"user-timelines UserTimelines/Add", "users Users/Find", "users Users/Find"} // author and mention
	for placement, calls := range map[string]string{kit.Apart: architecture.GRPC,
		kit.Together: architecture.GRPC, "front+compose,posts+users": architecture.HTTP} {
		tracers := map[string]*spans.Provider{}
		n := startWith(t, architecture.Services, map[string]string{kit.KnobSpans: kit.SpansAll,
			architecture.KnobCalls: calls, architecture.KnobPlacement: placement}, people,
			func(u *Unit) { tracers[u.Name] = u.Spans })
		n.compose(t, 1, "@user_2 has http://a.example/b")
		if first, got := hostingtest.OneTrace(t, tracers); first != "POST /posts" || !slices.Equal(got, want) {
			t.Errorf("%s over %s: the trace begins with %q and has the calls %q, want %q", placement, calls, first,
				got, want)
		}
	}
}

// TestOnlyRepeatableCallsAreRetried: posts and registrations are tried once. The knob of balancing is
// applied, too.
func TestOnlyRepeatableCallsAreRetried(t *testing.T) {
	design, err := architecture.New(architecture.Services, map[string]string{kit.KnobResilience: kit.Retries,
		kit.KnobBalancing: kit.TwoChoices})
	testset.Must(t, err)
	u, err := Open(t.Context(), design, architecture.UnitFront,
		Place{Key: testKey, Peer: func(string) (string, error) { return hostingtest.Nobody(t), nil }})
	testset.Must(t, err)
	defer func() { _ = u.Close() }() // it has made no connection
	all := u.Parts()
	ctx := t.Context()
	for what, c := range map[string]struct {
		call func() error
		want int64
	}{
		"compose":  {func() error { _, err := all.Composer.Compose(ctx, &pb.ComposeRequest{}); return err }, 1},
		"register": {func() error { _, err := all.Users.Register(ctx, &pb.RegisterRequest{}); return err }, 1},
		"follow":   {func() error { _, err := all.SocialGraph.Follow(ctx, &pb.FollowRequest{}); return err }, 4},
		"read":     {func() error { _, err := all.HomeTimelines.Read(ctx, &pb.TimelineRequest{}); return err }, 4},
	} {
		hostingtest.WantAttempts(t, u.Calls.Guards, what, c.want, c.call)
	}
	if u.Calls.Balancing != rpc.TwoChoices {
		t.Errorf("replicas are chosen by %v", u.Calls.Balancing)
	}
}

// TestATimelineOfAMillion is read page by page, from its ends and its middle, in memory that
// does not grow with it.
func TestATimelineOfAMillion(t *testing.T) {
	if os.Getenv("CLEAVE_LARGE") == "" {
		t.Skip("a million entries take up to minutes: CLEAVE_LARGE=1 go test ./systems/social/socialunit -run " +
			"Million")
	}
	n := start(t, architecture.Monolith, nil, peopleOf(t, 3, 1))
	id := n.compose(t, 2, "the post of them all")
	store, err := OpenStore(t.Context(), n.documents, parts.HomeTimelinesName)
	testset.Must(t, err)
	defer func() { _ = store.Close() }()
	const million, batch = 1_000_000, 1000
	entries := make([]document.Document, batch)
	for at := 0; at < million; at += batch {
		for i := range entries {
			entries[i] = document.Document{ID: fmt.Sprintf("%016x.1", at+i), Version: 1,
				Body: json.RawMessage(`{"owner":"1"}`)}
		}
		if _, err := store.Upsert(t.Context(), timelines.HomeCollection.Name, entries...); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	before := heap()
	for _, from := range []int{million, million / 2, 600} {
		path := fmt.Sprintf("/home-timelines/1?start=400&count=100&before=%016x", from)
		if status, body := n.ask(t, "GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := n.ask(t, "GET", "/home-timelines/1?start=1000000", ""); status != http.StatusBadRequest ||
		!strings.Contains(body, string(rpc.InvalidArgument)) {
		t.Errorf("a start beyond social.MaxPage: %d %s", status, body)
	}
	n.compose(t, 2, "one more")
	if got := n.timeline(t, "/user-timelines/2"); len(got) != 2 || got[1] != id {
		t.Errorf("the timeline of the author is %v", got)
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("reading it has left %d MiB in memory", grown>>20)
	}
}
