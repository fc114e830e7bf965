package socialunit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/population"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// TestBehaviour is the same in every architecture and with every knob. In the cases "called in front" the
// unit with the public interface also has components that other units call.
func TestBehaviour(t *testing.T) {
	people := peopleOf(t, 12, 20)
	for name, c := range map[string]struct {
		architecture string
		knobs        map[string]string
	}{
		"monolith": {architecture.Monolith, nil},
		"services": {architecture.Services, nil},
		"over HTTP in MessagePack": {architecture.Services,
			map[string]string{"calls": "http", "encoding": "msgpack"}},
		"over HTTP with mTLS": {architecture.Services,
			map[string]string{"calls": "http", "security": "mtls", "fan_out_by": "events"}},
		"called in front": {architecture.Services, map[string]string{"placement": "compose+posts,home-timelines"}},
		"called in front over HTTP": {architecture.Services,
			map[string]string{"placement": "compose", "calls": "http"}},
		"called in front with TLS": {architecture.Services,
			map[string]string{"placement": "compose+home-timelines", "security": "tls", "fan_out_by": "events"}},
		"guarded":           {architecture.Services, map[string]string{"resilience": "guarded"}},
		"with TLS, in JSON": {architecture.Services, map[string]string{"security": "tls", "encoding": "json"}},
		"gathered on read":  {architecture.Services, map[string]string{"fan_out": "read"}},
		"monolith, on read, with a cache": {architecture.Monolith,
			map[string]string{"fan_out": "read", "timeline_cache": "memory"}},
		"with caches": {architecture.Services,
			map[string]string{"cache": "look-aside", "timeline_cache": "memory"}},
		"filled by events":    {architecture.Services, map[string]string{"fan_out_by": "events"}},
		"monolith, by events": {architecture.Monolith, map[string]string{"fan_out_by": "events"}},
		"by events of RabbitMQ": {architecture.Services,
			map[string]string{"fan_out_by": "events", "broker": "rabbitmq"}},
		"some components share": {architecture.Services,
			map[string]string{"placement": "front+compose,posts+media+texts"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, c.architecture, c.knobs, people)
			if status, body := n.ask(t, "GET", "/health", ""); status != http.StatusOK {
				t.Fatalf("health: %d %s", status, body)
			}
			t.Run("timelines", func(t *testing.T) { timelinesHoldWhatWasPosted(t, n, people) })
			t.Run("parts of a post", func(t *testing.T) { postsAreMadeOfParts(t, n) })
			t.Run("users and links", func(t *testing.T) { usersFollowUsers(t, n) })
			t.Run("nonsense", func(t *testing.T) { nonsenseIsRefused(t, n) })
		})
	}
}

// timelinesHoldWhatWasPosted: each post is once and in order in the timeline of its author and in the home
// timelines of all followers, and in no other.
func timelinesHoldWhatWasPosted(t *testing.T, n network, people *population.Population) {
	posted := map[int][]string{} // by author, the latest first
	var all []string
	for i := range 30 {
		author := 1 + i%3
		id := n.compose(t, author, fmt.Sprintf("post %d", i))
		posted[author] = slices.Insert(posted[author], 0, id)
		all = slices.Insert(all, 0, id)
	}
	n.settle(t)
	if !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("ids are not in the order of time: %v", all)
	}
	for user := 1; user <= people.Users; user++ {
		if got := n.timeline(t, fmt.Sprintf("/user-timelines/%d?count=100", user)); !slices.Equal(got,
			posted[user]) {
			t.Errorf("user %d posted %v, the timeline has %v", user, posted[user], got)
		}
		var home []string
		for _, id := range all {
			for author, ids := range posted {
				if slices.Contains(ids, id) && people.Follows(user, author) {
					home = append(home, id)
				}
			}
		}
		path := fmt.Sprintf("/home-timelines/%d", user)
		if got := n.timeline(t, path+"?count=100"); !slices.Equal(got, home) {
			t.Errorf("user %d follows %v and reads %v, want %v", user, people.Friends[user], got, home)
		}
		if len(home) > 12 {
			if got := n.timeline(t, path+"?start=2&count=5"); !slices.Equal(got, home[2:7]) {
				t.Errorf("from 2 on user %d reads %v, want %v", user, got, home[2:7])
			}
			if got := n.timeline(t, path+"?count=3&before="+home[8]); !slices.Equal(got, home[9:12]) {
				t.Errorf("before %s user %d reads %v, want %v", home[8], user, got, home[9:12])
			}
		}
	}
}

// postsAreMadeOfParts: a post is read with its author, mentions, links and media, and its short link
// resolves.
func postsAreMadeOfParts(t *testing.T, n network) {
	id := n.compose(t, 4, "for @user_5 and @nobody_here see https://example.com/a?b=c")
	_, body := n.ask(t, "GET", "/user-timelines/4?count=1", "")
	var found struct {
		Posts []struct {
			ID       string
			Author   struct{ ID, Name string }
			Text     string
			Mentions []struct{ ID, Name string }
			Links    []struct{ Short, URL string }
			Media    []struct{ ID, Type string }
		}
	}
	if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Posts) != 1 {
		t.Fatalf("%s (%v)", body, err)
	}
	p := found.Posts[0]
	if p.ID != id || p.Author.ID != "4" || p.Author.Name != "user_4" || len(p.Mentions) != 1 ||
		p.Mentions[0].ID != "5" || len(p.Media) != 1 || p.Media[0].Type != "png" {
		t.Errorf("the post is %s", body)
	}
	if len(p.Links) != 1 || p.Links[0].URL != "https://example.com/a?b=c" ||
		p.Text != "for @user_5 and @nobody_here see "+p.Links[0].Short {
		t.Fatalf("the text is %q, the links are %v", p.Text, p.Links)
	}
	short := p.Links[0].Short[strings.LastIndexByte(p.Links[0].Short, '/')+1:]
	if status, link := n.ask(t, "GET", "/links/"+short, ""); status != http.StatusOK ||
		!strings.Contains(link, "https://example.com/a?b=c") {
		t.Errorf("the short link leads to %d %s", status, link)
	}
}

// usersFollowUsers: a new user reads the posts of a user from the time of following on.
func usersFollowUsers(t *testing.T, n network) {
	const ann = `{"id":"1001","name":"ann","password":"open sesame"}`
	for _, want := range []int{http.StatusCreated, http.StatusConflict} {
		if status, body := n.ask(t, "POST", "/users", ann); status != want {
			t.Fatalf("register: %d %s, want %d", status, body, want)
		}
	}
	if got := n.timeline(t, "/home-timelines/1001"); len(got) != 0 {
		t.Errorf("ann, who follows nobody, reads %v", got)
	}
	const follows = "/users/1001/follows/12"
	for range 2 { // a repetition changes nothing
		if status, body := n.ask(t, "PUT", follows, ""); status != http.StatusOK {
			t.Fatalf("follow: %d %s", status, body)
		}
	}
	status, body := n.ask(t, "POST", "/posts", `{"author":"user_12","text":"hello"}`)
	if status != http.StatusCreated {
		t.Fatalf("compose: %d %s", status, body)
	}
	n.settle(t)
	if got := n.timeline(t, "/home-timelines/1001"); len(got) != 1 {
		t.Errorf("ann, who follows user 12, reads %v", got)
	}
	unfollowedPostsStay(t, n, follows)
}

// unfollowedPostsStay: after ann has unfollowed a user she gets no more of their posts. Earlier ones stay in
// a timeline that is filled, and are gone from one that is gathered. At the end she follows the user again.
func unfollowedPostsStay(t *testing.T, n network, follows string) {
	for _, method := range []string{"DELETE", "DELETE", "PUT"} { // a repetition changes nothing
		if status, body := n.ask(t, method, follows, ""); status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, follows, status, body)
		}
		if status, body := n.ask(t, "POST", "/posts", `{"author":"user_12","text":"again"}`); status !=
			http.StatusCreated {
			t.Fatalf("compose: %d %s", status, body)
		}
		n.settle(t)
		want := map[bool]int{false: 1}[n.onRead] // gathered on read, a home timeline has none of them
		if method == "PUT" {
			want = map[bool]int{false: 2, true: 4}[n.onRead]
		}
		if got := n.timeline(t, "/home-timelines/1001"); len(got) != want {
			t.Errorf("after %s of user 12 ann reads %v, want %d posts", method, got, want)
		}
	}
}

// nonsenseIsRefused: invalid requests get the right status and kind of problem.
func nonsenseIsRefused(t *testing.T, n network) {
	long := strings.Repeat("x", social.MaxText+1)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		kind               rpc.Kind
	}{
		"no such user":       {"GET", "/home-timelines/777", "", 404, social.NotFound},
		"no such author":     {"POST", "/posts", `{"author":"nobody","text":"x"}`, 404, social.NotFound},
		"no user's number":   {"GET", "/user-timelines/abc", "", 400, rpc.InvalidArgument},
		"follows themselves": {"PUT", "/users/1/follows/1", "", 409, social.SelfFollow},
		"unfollows nobody":   {"DELETE", "/users/1/follows/777", "", 404, social.NotFound},
		"follows nobody":     {"PUT", "/users/1/follows/777", "", 404, social.NotFound},
		"a long text": {"POST", "/posts", fmt.Sprintf(`{"author":"user_1","text":%q}`, long), 400,
			rpc.InvalidArgument},
		"no text": {"POST", "/posts", `{"author":"user_1","text":""}`, 400, rpc.InvalidArgument},
		"an unknown member": {"POST", "/posts", `{"author":"user_1","text":"x","likes":3}`, 400,
			rpc.InvalidArgument},
		"half of a body": {"POST", "/posts", `{"author":`, 400, rpc.InvalidArgument},
		"a large body": {"POST", "/posts", `{"author":"` + strings.Repeat("a", 20_000) + `"}`, 413,
			"body-too-large"},
		"another medium": {"POST", "/posts", `{"author":"user_1","text":"x","media":[{"id":"a","type":"exe"}]}`,
			400, rpc.InvalidArgument},
		"too many media": {"POST", "/posts", `{"author":"user_1","text":"x","media":[` +
			strings.Repeat(`{"id":"a","type":"png"},`, 8) + `{"id":"a","type":"png"}]}`, 400, rpc.InvalidArgument},
		"too far":             {"GET", "/home-timelines/1?start=499&count=2", "", 400, rpc.InvalidArgument},
		"a million":           {"GET", "/home-timelines/1?count=1000000", "", 400, rpc.InvalidArgument},
		"nothing":             {"GET", "/home-timelines/1?count=0", "", 400, rpc.InvalidArgument},
		"before no post":      {"GET", "/home-timelines/1?before=yesterday", "", 400, rpc.InvalidArgument},
		"a name that is none": {"POST", "/users", `{"id":"5000","name":"Ann <b>"}`, 400, rpc.InvalidArgument},
		"a short password": {"POST", "/users", `{"id":"5000","name":"ann2","password":"sesame"}`, 400,
			rpc.InvalidArgument},
		"a link that is none":  {"GET", "/links/none", "", 404, social.NotFound},
		"a route that is none": {"DELETE", "/post", "", 404, "no-such-resource"},
		"another method":       {"DELETE", "/posts", "", 405, "method-not-allowed"},
	} {
		status, body := n.ask(t, c.method, c.path, c.body)
		var problem struct{ Type, Detail string }
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != c.status ||
			problem.Type != "urn:cleave:social:"+string(c.kind) || problem.Detail == "" {
			t.Errorf("%s: %d %s, want %d and %s", name, status, body, c.status, c.kind)
		}
	}
}

// TestTheCacheIsAsked: the first read of a post misses the cache, later ones hit it.
func TestTheCacheIsAsked(t *testing.T) {
	var unit *Unit
	n := startWith(t, architecture.Monolith, map[string]string{"cache": "look-aside"}, peopleOf(t, 3, 1),
		func(u *Unit) { unit = u })
	n.compose(t, 1, "once")
	for range 3 {
		n.timeline(t, "/user-timelines/1")
	}
	if hits, misses := unit.cache.Found(); hits != 2 || misses != 1 {
		t.Errorf("%d hits and %d misses, want 2 and 1", hits, misses)
	}
}

// TestABadAnnouncementBlocksNothing: an announcement that cannot be decoded becomes a dead letter, and a post
// that is announced twice is in every home timeline once.
func TestABadAnnouncementBlocksNothing(t *testing.T) {
	people := peopleOf(t, 12, 20)
	n := start(t, architecture.Monolith, map[string]string{"fan_out_by": "events"}, people)
	client, err := openBroker(t.Context(), n.broker)
	testset.Must(t, err)
	defer func() { _ = client.Close() }()
	id := n.compose(t, 1, "once")
	announced := announcer{client}
	if err := client.Publish(t.Context(), broker.Message{ID: "nonsense", Type: "post.composed", Key: "1",
		Body: []byte("\xff\xff")}); err != nil {
		t.Fatal(err)
	}
	if _, err := announced.Add(t.Context(), &pb.Entry{User: "1", Post: id}); err != nil {
		t.Fatal(err)
	}
	n.settle(t)
	for _, follower := range people.Friends[1] { // a link is followed in both directions
		if got := n.timeline(t, fmt.Sprintf("/home-timelines/%d", follower)); !slices.Equal(got, []string{id}) {
			t.Errorf("the home timeline of user %d is %v, want %s once", follower, got, id)
		}
	}
	if dead, err := client.Depth(t.Context(), broker.DeadLetters(Queue)); err != nil ||
		dead.Ready != 1 {
		t.Errorf("%d dead letters, %v; want the one that cannot be read", dead.Ready, err)
	}
}

func TestAUnitThatCannotBeOpenedSaysWhy(t *testing.T) {
	design, err := architecture.New(architecture.Monolith, nil)
	testset.Must(t, err)
	_, err = Open(t.Context(), design, social.Name, Place{Documents: "sqlite:///nowhere/at/all", Key: testKey})
	if err == nil || !strings.HasPrefix(err.Error(), "unit social: ") {
		t.Errorf("%v, want why the unit social cannot be opened", err)
	}
}
