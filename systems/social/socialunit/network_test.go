package socialunit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// testKey is the key of tokens in all tests.
var testKey = []byte("the key of the tokens of a test.")

// network holds the addresses of a whole system that runs in this process.
type network struct {
	base, broker, documents string
	onRead                  bool // home timelines are gathered when they are read
}

// peopleOf returns a population.
func peopleOf(t *testing.T, users, links int) *population.Population {
	t.Helper()
	people, err := population.New(users, links)
	testset.Must(t, err)
	return people
}

// start fills the stores of a design and serves its units until the test ends. turned holds the knobs that
// differ from those of the architecture.
func start(t *testing.T, name string, turned map[string]string, people *population.Population) network {
	t.Helper()
	return startWith(t, name, turned, people, func(*Unit) {})
}

// startWith is start, but calls change with each unit before it serves.
func startWith(
	t *testing.T, name string, turned map[string]string, people *population.Population, change func(*Unit),
) network {
	t.Helper()
	design, err := architecture.New(name, turned)
	testset.Must(t, err)
	place := Place{Documents: "sqlite://" + t.TempDir(), Cache: "memory://", Key: testKey}
	if design.Broker != "" {
		place.Broker = servers.Started(t, server.Kind(design.Broker), server.Settings{}).URL()
	}
	testset.Must(t, Fill(t.Context(), design, place.Documents, people))
	place.Dir = hostingtest.Identities(t, design.Security, design.Names()...)
	addresses, stop, err := hostingtest.Serve(design.Names(),
		func(ctx context.Context, name string, addresses map[string]string) (hosting.Served, error) {
			place.Peer = func(unit string) (string, error) { return addresses[unit], nil }
			unit, err := Open(ctx, design, name, place)
			testset.Must(t, err)
			unit.LogError = func(err error) { t.Logf("logs: %v", err) }
			change(unit)
			return unit, nil
		})
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, stop()) })
	return network{"http://" + addresses[design.Front().Name], place.Broker, place.Documents, design.OnRead}
}

var (
	pathUser   = regexp.MustCompile(`^/(?:home-timelines|users)/(\w+)`)
	bodyAuthor = regexp.MustCompile(`"author":"(\w{1,40})"`)
)

// tokenFor returns the token that a request needs: that of the user in its path, or of the author in its
// body.
func tokenFor(t *testing.T, path, body string) string {
	t.Helper()
	user := &pb.User{Id: "1", Name: "user_1"}
	if match := pathUser.FindStringSubmatch(path); match != nil {
		user.Id = match[1]
	}
	if match := bodyAuthor.FindStringSubmatch(body); match != nil {
		user.Name = match[1]
	}
	return signed(t, testKey, user, time.Now().Add(time.Hour))
}

// signed returns a token of the user, signed with the key.
func signed(t *testing.T, key []byte, user *pb.User, expires time.Time) string {
	t.Helper()
	signer, err := session.NewSigner(key)
	testset.Must(t, err)
	token, err := signer.Sign(user, expires)
	testset.Must(t, err)
	return token
}

// ask sends a request, with the token that it needs, and returns status and body.
func (n network) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	return n.askWith(t, "Bearer "+tokenFor(t, path, body), method, path, body)
}

// askWith sends a request with this header Authorization and returns status and body.
func (n network) askWith(t *testing.T, authorization, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, n.base+path, strings.NewReader(body))
	testset.Must(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", authorization)
	answer, err := http.DefaultClient.Do(request)
	testset.Must(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	testset.Must(t, err)
	return answer.StatusCode, string(text)
}

// compose posts and returns the id of the post.
func (n network) compose(t *testing.T, author int, text string) string {
	t.Helper()
	status, body := n.ask(t, "POST", "/posts",
		fmt.Sprintf(`{"author":"user_%d","text":%q,"media":[{"id":"abc","type":"png"}]}`, author, text))
	var post struct{ ID string }
	if err := json.Unmarshal([]byte(body), &post); status != http.StatusCreated || err != nil || post.ID == "" {
		t.Fatalf("compose: %d %s", status, body)
	}
	return post.ID
}

// settle waits until all posts are in home timelines. Without events there is no such path (404) and nothing
// to wait for. The server itself waits before it answers 503 (see settleTimeout), so settle does not pause.
func (n network) settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		status, body := n.ask(t, "GET", SettledPath, "")
		if status == http.StatusNoContent || status == http.StatusNotFound {
			return
		}
		if status != http.StatusServiceUnavailable || time.Now().After(end) { // 503: not yet
			t.Fatalf("settled: %d %s", status, body)
		}
	}
}

// timeline returns the ids of the posts of a timeline.
func (n network) timeline(t *testing.T, path string) []string {
	t.Helper()
	status, body := n.ask(t, "GET", path, "")
	var found struct {
		IDs   []string
		Posts []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &found); status != http.StatusOK || err != nil {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	for i, post := range found.Posts {
		if len(found.Posts) != len(found.IDs) || post.ID != found.IDs[i] {
			t.Errorf("%s: posts %v of ids %v", path, found.Posts, found.IDs)
		}
	}
	return found.IDs
}
