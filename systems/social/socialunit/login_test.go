package socialunit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/population"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// TestTokens: logins and checks of tokens behave the same in every architecture.
func TestTokens(t *testing.T) {
	people := peopleOf(t, 3, 1)
	for name, c := range map[string]struct {
		architecture string
		knobs        map[string]string
	}{
		"monolith":           {architecture.Monolith, nil},
		"services":           {architecture.Services, nil},
		"services over HTTP": {architecture.Services, map[string]string{"calls": "http"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, c.architecture, c.knobs, people)
			t.Run("login", func(t *testing.T) { aLoginReturnsAToken(t, n) })
			t.Run("refused", func(t *testing.T) { withoutTheTokenNothingIsDone(t, n) })
		})
	}
}

// aLoginReturnsAToken that lets its user post. A wrong name or password returns none, and a name cannot be
// registered twice.
func aLoginReturnsAToken(t *testing.T, n network) {
	logIn := func(name, password string) (int, string) {
		return n.askWith(t, "", "POST", "/login", fmt.Sprintf(`{"name":%q,"password":%q}`, name, password))
	}
	status, body := logIn("user_2", population.Password)
	var made struct {
		User  struct{ ID, Name string }
		Token string
	}
	if err := json.Unmarshal([]byte(body), &made); status != http.StatusOK || err != nil || made.User.ID != "2" {
		t.Fatalf("login: %d %s", status, body)
	}
	if status, body := n.askWith(t, "Bearer "+made.Token, "POST", "/posts",
		`{"author":"user_2","text":"I am in"}`); status != http.StatusCreated {
		t.Errorf("with the token of a login: %d %s", status, body)
	}
	for _, wrong := range [][2]string{{"user_2", "Password"}, {"nobody", population.Password}} {
		if status, body := logIn(wrong[0], wrong[1]); status != http.StatusUnauthorized ||
			!strings.Contains(body, string(social.WrongLogin)) {
			t.Errorf("login as %q: %d %s", wrong, status, body)
		}
	}
	const same = `{"id":"1001","name":"user_2","password":"open sesame"}`
	if status, body := n.ask(t, "POST", "/users", same); status != http.StatusConflict {
		t.Errorf("another user of the same name: %d %s", status, body)
	}
}

// withoutTheTokenNothingIsDone: requests without a token, with an invalid one or with that of another user
// are refused and change nothing.
func withoutTheTokenNothingIsDone(t *testing.T, n network) {
	soon := time.Now().Add(time.Hour)
	user := population.User(1)
	right := signed(t, testKey, user, soon)
	head, _, _ := strings.Cut(right, ".")
	// unsigned has the claims of right, but its head says that it needs no signature, and it has none.
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) +
		strings.TrimPrefix(right[:strings.LastIndexByte(right, '.')+1], head)
	for name, c := range map[string]struct {
		authorization string
		status        int
		kind          rpc.Kind
	}{
		"no header":      {"", 401, social.NoSession},
		"another scheme": {"Basic " + right, 401, social.NoSession},
		"no token":       {"Bearer yes", 401, social.NoSession},
		"not signed":     {"Bearer " + unsigned, 401, social.NoSession},
		"another key": {"Bearer " + signed(t, []byte(strings.Repeat("x", 32)), user, soon), 401,
			social.NoSession},
		"expired": {"Bearer " + signed(t, testKey, user, time.Now().Add(-time.Second)), 401, social.NoSession},
		"another user": {"Bearer " + signed(t, testKey, &pb.User{Id: "3", Name: "user_3"}, soon), 403,
			social.NotYours},
	} {
		for _, request := range [][3]string{
			{"POST", "/posts", `{"author":"user_1","text":"not mine"}`}, {"GET", "/home-timelines/1", ""},
			{"PUT", "/users/1/follows/2", ""}, {"DELETE", "/users/1/follows/2", ""},
		} {
			status, body := n.askWith(t, c.authorization, request[0], request[1], request[2])
			if status != c.status || !strings.Contains(body, "urn:cleave:social:"+string(c.kind)) {
				t.Errorf("%s: %s %s: %d %s, want %d and %s", name, request[0], request[1], status, body, c.status,
					c.kind)
			}
		}
	}
	if got := n.timeline(t, "/user-timelines/1"); len(got) != 0 {
		t.Errorf("user 1 has posted %v", got)
	}
}
