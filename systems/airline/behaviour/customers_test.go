package behaviour

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

func logsInAndOut(s *session) {
	var first struct {
		Token   string
		Expires time.Time
	}
	s.wants(s.askAs("POST", "/login", "", `{"password":"password-1","login":"c1"}`), 200, &first)
	if left := time.Until(first.Expires); left < 25*time.Minute || left > 35*time.Minute {
		s.Errorf("the session expires in %s, want half an hour", left)
	}
	second := s.logIn(1)
	if first.Token == second {
		s.Error("two sessions have one token")
	}
	if got := s.askAs("POST", "/logout", first.Token, ""); got.status != 204 {
		s.Errorf("logout: %s", got)
	}
	s.refused("an ended session", s.askAs("GET", "/customers/c1", first.Token, ""), "no-session")
	s.refused("logout twice", s.askAs("POST", "/logout", first.Token, ""), "no-session")
	if got := s.askAs("GET", "/customers/c1", second, ""); got.status != 200 {
		s.Errorf("the other session of the customer: %s", got)
	}
	for what, body := range map[string]string{
		"another's password": `{"login":"c1","password":"password-2"}`,
		"an unknown login":   `{"login":"c60","password":"password-60"}`,
		"another case":       `{"login":"C1","password":"password-1"}`,
		"a space":            `{"login":"c1 ","password":"password-1"}`,
	} {
		s.refused(what, s.askAs("POST", "/login", "", body), "wrong-credentials")
	}
}

// protected returns the operations that need a session: method and target.
func protected(login string) [][2]string {
	return [][2]string{
		{"POST", "/logout"}, {"GET", "/customers/" + login}, {"PUT", "/customers/" + login},
		{"GET", "/customers/" + login + "/bookings"},
		{"GET", "/flights?from=AMS&to=ATH&date=2026-02-27"}, {"POST", "/bookings"},
		{"DELETE", "/bookings/" + strings.Repeat("0", 32)},
	}
}

func refusesWithoutSession(s *session) {
	for _, operation := range protected(s.login) {
		for what, header := range map[string]string{
			"no header": "", "no token": "Bearer", "an empty token": "Bearer ",
			"an unknown token": "Bearer " + strings.Repeat("0", 32),
			"a long token":     "Bearer " + strings.Repeat("0", 2000), "a path": "Bearer ../bookings",
			"another scheme": "Basic " + s.token,
			"two spaces":     "Bearer  " + s.token, "a lower case": "bearer " + s.token,
		} {
			request, err := http.NewRequestWithContext(s.Context(), operation[0], s.airline.Front+operation[1],
				http.NoBody)
			testset.Must(s, err)
			request.Header.Set("Authorization", header)
			got, err := s.send(request)
			testset.Must(s, err)
			s.refused(fmt.Sprintf("%s %s with %s", operation[0], operation[1], what), got, "no-session")
		}
	}
}

// expires needs an airline whose sessions last two seconds.
func expires(s *session) {
	usesNewSession(s)
	for end := time.Now().Add(soon); s.ask("GET", "/customers/"+s.login, "").status == 200; {
		if time.Now().After(end) {
			s.Fatalf("a session of two seconds is valid for more than %v", soon)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, operation := range protected(s.login) {
		s.refused("an expired session: "+operation[0]+" "+operation[1], s.ask(operation[0], operation[1], ""),
			"no-session")
	}
	usesNewSession(s)
}

// usesNewSession logs in and asks at once. On a busy machine the session may expire in between: then it logs
// in again.
func usesNewSession(s *session) {
	for {
		begun := time.Now()
		s.token = s.logIn(s.first)
		got := s.ask("GET", "/customers/"+s.login, "")
		if got.status == 200 {
			return
		}
		if since := time.Since(begun); since < time.Second {
			s.Fatalf("in a session that is %v old at most: %s", since, got)
		}
	}
}

// person is a customer as clients see it.
type person struct {
	Login, FirstName, LastName, Phone string
	Miles                             int
	Address                           address
}

type address struct{ Street, City, Postcode, Country string }

func hasCustomers(s *session) {
	for n, want := range map[int]person{
		0: {"c0", "First 0", "Last 0", "+1 555 0000", 0, address{"0 Main Street", "Springfield", "00000", "US"}},
		59: {"c59", "First 59", "Last 59", "+1 555 0059", 5900,
			address{"59 Main Street", "Springfield", "00059", "US"}},
	} {
		var got person
		s.wants(s.askAs("GET", "/customers/"+login(n), s.logIn(n), ""), 200, &got)
		if got != want {
			s.Errorf("customer %d: %+v, want %+v", n, got, want)
		}
	}
	for _, who := range []string{login(s.first + 1), "c60", "nobody", "c%31%2F", strings.Repeat("x", 1000),
		"%F0%9F%9B%AB"} {
		s.refused("customer "+who, s.ask("GET", "/customers/"+who, ""), "not-yours")
		s.refused("bookings of "+who, s.ask("GET", "/customers/"+who+"/bookings", ""), "not-yours")
	}
	if got := s.ask("GET", "/customers/%63"+s.login[1:], ""); got.status != 200 {
		s.Errorf("the login, escaped: %s", got)
	}
}

// contact returns the body of a change.
func contact(phone, street string) string {
	text, err := json.Marshal(map[string]any{"phone": phone,
		"address": map[string]string{"street": street, "city": "Zürich", "postcode": "8000", "country": "CH"}})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return string(text)
}

func changesCustomers(s *session) {
	const path = "/customers/"
	want := person{s.login, fmt.Sprintf("First %d", s.first), fmt.Sprintf("Last %d", s.first), "+41 44 000",
		100 * s.first, address{strings.Repeat("🛫", 256), "Zürich", "8000", "CH"}}
	var changed, found person
	escaped := strings.ReplaceAll(contact(want.Phone, want.Address.Street), "🛫", `\uD83D\udeeb`)
	s.wants(s.ask("PUT", path+s.login, strings.Replace(escaped, `"+41`, `"\\ud83d`, 1)), 200, &changed)
	if want := `\ud83d 44 000`; changed.Phone != want {
		s.Errorf("the phone is %q, want %q", changed.Phone, want)
	}
	s.wants(s.ask("PUT", path+s.login, contact(want.Phone, want.Address.Street)), 200, &changed)
	s.wants(s.ask("GET", path+s.login, ""), 200, &found)
	if changed != want || found != want {
		s.Errorf("changed to %+v, found %+v, want %+v", changed, found, want)
	}
	other := s.other()
	s.refused("another customer", s.ask("PUT", path+other.login, contact("1", "2")), "not-yours")
	for what, body := range map[string]string{
		"no address": `{"phone":"1"}`, "no phone": strings.Replace(contact("1", "2"), `"phone":"1"`, `"miles":"1"`,
			1),
		"miles, too":     strings.Replace(contact("1", "2"), `{"address"`, `{"miles":1,"address"`, 1),
		"a number":       strings.Replace(contact("1", "2"), `"1"`, `1`, 1),
		"an empty phone": contact("", "2"), "an empty street": contact("1", ""),
		"a long street":             contact("1", strings.Repeat("ü", 257)),
		"a null street":             strings.Replace(contact("1", "2"), `"2"`, `null`, 1),
		"an address that is a text": `{"phone":"1","address":"2"}`,
		"an address with more":      strings.Replace(contact("1", "2"), `{"city"`, `{"planet":"Earth","city"`, 1),
		"an address with less":      `{"phone":"1","address":{"street":"2"}}`,
		"an address in capitals":    strings.Replace(contact("1", "2"), `"city"`, `"City"`, 1),
		"half a character":          strings.Replace(contact("1", "2"), `"2"`, `"\ud83d"`, 1),
		"the other half":            strings.Replace(contact("1", "2"), `"2"`, `"\u005c\udEEB\ud83d"`, 1),
		"a list":                    "[" + contact("1", "2") + "]",
	} {
		s.refused(what, s.ask("PUT", path+s.login, body), "bad-request")
		s.refused(what+" for another customer", s.ask("PUT", path+other.login, body), "bad-request")
	}
	s.wants(s.ask("GET", path+s.login, ""), 200, &found)
	var others person
	s.wants(other.ask("GET", path+other.login, ""), 200, &others)
	if found != want || others.Phone != fmt.Sprintf("+1 555 %04d", other.first) {
		s.Errorf("what was refused has changed %+v or %+v", found, others)
	}
}

// writeKey makes the file of a key.
func writeKey(t *testing.T, key string) string {
	path := filepath.Join(t.TempDir(), "key")
	testset.Must(t, os.WriteFile(path, []byte(key+"\n"), 0o600))
	return path
}

// takesSignedTokens needs an airline whose sessions are signed and last four seconds.
func takesSignedTokens(s *session, key string) {
	read := func(token string) answer { return s.askAs("GET", "/customers/"+s.login, token, "") }
	if got := read(s.token); got.status != 200 {
		s.Fatalf("a signed session: %s", got)
	}
	if made := s.book("AMS-ATH-20260227-1"); len(made) != 1 || made[0].Login != s.login {
		s.Errorf("booked in a signed session: %+v", made)
	}
	if got := s.ask("POST", "/logout", ""); got.status != 204 {
		s.Errorf("logout: %s", got)
	}
	secret, err := hex.DecodeString(key)
	testset.Must(s, err)
	later := time.Now().Add(time.Hour).Unix()
	good := fmt.Sprintf(`{"sub":%q,"exp":%d,"jti":"1"}`, s.login, later)
	if got := read(sign("HS256", good, secret)); got.status != 200 {
		s.Errorf("a token that was signed with the key by somebody else: %s", got)
	}
	stranger := sign("HS256", fmt.Sprintf(`{"sub":"stranger","exp":%d,"jti":"1"}`, later), secret)
	for method, body := range map[string]string{"GET": "", "PUT": contact("1", "2")} {
		s.refused(method+" of a customer who has a session and is not stored",
			s.askAs(method, "/customers/stranger", stranger, body), "internal")
	}
	if s.airline.Hosting(Auth) == Auth { // not in a monolith, which would end with it
		testset.Must(s, s.airline.Kill(Auth))
		if got := read(sign("HS256", good, secret)); got.status != 200 {
			s.Errorf("a signed token, without auth: %s", got)
		}
		testset.Must(s, s.airline.Restart(Auth))
	}
	parts := strings.Split(s.token, ".")
	forged := map[string]string{
		"another key":           sign("HS256", good, []byte("another key of thirty-two bytes!")),
		"no signature":          sign("none", good, nil),
		"no signature, claimed": strings.Join(strings.Split(sign("HS256", good, secret), ".")[:2], ".") + ".",
		"no expiry":             sign("HS256", `{"sub":"c0","jti":"1"}`, secret),
		"expired": sign("HS256", fmt.Sprintf(`{"sub":%q,"exp":%d,"jti":"1"}`, s.login, later-7200),
			secret), "no subject": sign("HS256", fmt.Sprintf(`{"exp":%d,"jti":"1"}`, later), secret),
		"no token": "abc", "another algorithm": sign("HS384", good, secret),
		"another's claims": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(good)) + "." +
			parts[len(parts)-1],
	}
	for what, token := range forged {
		s.refused(what, read(token), "no-session")
	}
	time.Sleep(4500 * time.Millisecond)
	s.refused("an expired session", read(s.token), "no-session")
}

// sign makes a JWT by hand. An algorithm without a key has no signature.
func sign(algorithm, claims string, key []byte) string {
	text := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":%q,"typ":"JWT"}`, algorithm)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	if key == nil {
		return text + "."
	}
	of := map[string]func() hash.Hash{"HS256": sha256.New, "HS384": sha512.New384}[algorithm]
	mac := hmac.New(of, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
