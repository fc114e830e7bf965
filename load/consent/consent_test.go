package consent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

func addresses(t *testing.T, texts ...string) []netip.Addr {
	t.Helper()
	var all []netip.Addr
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		testset.Must(t, err)
		all = append(all, a)
	}
	return all
}

// names returns a resolver of test names. It gives another address for evil.test from the second lookup on.
func names(t *testing.T) func(context.Context, string) ([]netip.Addr, error) {
	asked := 0
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "localhost", "localhost.":
			return addresses(t, "::1", "127.0.0.1"), nil
		case "made.test":
			return addresses(t, "198.18.3.4"), nil
		case "shop.example.org":
			return addresses(t, "203.0.113.9", "203.0.113.5"), nil
		case "evil.test":
			if asked++; asked == 1 {
				return addresses(t, "127.0.0.1"), nil
			}
			return addresses(t, "203.0.113.66"), nil
		case "both.test":
			return addresses(t, "127.0.0.1", "203.0.113.1"), nil
		case "hidden.test":
			return addresses(t, "203.0.113.1", "169.254.169.254"), nil
		case "mapped.test":
			return addresses(t, "::ffff:127.0.0.1"), nil
		case "empty.test":
			return nil, nil
		}
		return nil, errors.New("no such host")
	}
}

// night is within the hours of shop.example.org: 23:00 in Berlin.
func night() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// guard returns a guard with the list of testdata, whose targets serve their tokens.
func guard(t *testing.T) Guard {
	t.Helper()
	file, err := os.Open("testdata/allowed.yaml")
	testset.Must(t, err)
	defer func() { _ = file.Close() }() // only read
	allowed, err := ReadList(file, "allowed.yaml")
	testset.Must(t, err)
	return Guard{
		Made:    []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")},
		Allowed: allowed,
		Lookup:  names(t),
		Now:     night,
		Fetch: func(_ context.Context, p Proof) ([]byte, error) {
			switch p.Address.Addr().String() {
			case "203.0.113.5":
				return []byte("4f0c1a8be6d94c7fa1b2\n"), nil
			case "192.0.2.7":
				return []byte("aaaabbbbccccddddeeee"), nil
			}
			return nil, errors.New("404")
		},
	}
}

func TestOwnTargets(t *testing.T) {
	cases := []struct{ host, want string }{
		{"127.0.0.1", "127.0.0.1:80"}, {"127.9.9.9", "127.9.9.9:80"}, {"::1", "[::1]:80"},
		{"localhost", "[::1]:80 127.0.0.1:80"}, {"localhost.", "[::1]:80 127.0.0.1:80"},
		{"198.18.0.1", "198.18.0.1:80"}, {"198.19.255.255", "198.19.255.255:80"}, {"made.test", "198.18.3.4:80"},
		{"evil.test", "127.0.0.1:80"}, // the first answer is all that counts
	}
	for _, c := range cases {
		g := guard(t)
		lookups := 0
		lookup := g.Lookup // one for all: its second answer is another one
		g.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			lookups++
			return lookup(ctx, host)
		}
		got, err := g.Admit(t.Context(), Request{Host: c.host, Port: 80})
		if err != nil || !got.Own || fmt.Sprint(got.Addresses) != "["+c.want+"]" {
			t.Errorf("%s: %+v, %v, want %s", c.host, got, err, c.want)
		}
		once := 1
		if _, err := netip.ParseAddr(c.host); err == nil {
			once = 0 // an address is not looked up
		}
		if lookups != once {
			t.Errorf("%s: looked up %d times, want %d", c.host, lookups, once)
		}
	}
}

func TestRefusedHosts(t *testing.T) {
	cases := []struct{ host, why string }{
		{"203.0.113.1", "not in the allow list"}, {"10.0.0.1", "not in the allow list"},
		{"192.168.1.1", "not in the allow list"},
		{"172.17.0.2", "not in the allow list"}, {"fd00::1", "not in the allow list"},
		{"2001:db8::1", "not in the allow list"},
		{"198.20.0.1", "not in the allow list"}, {"198.17.255.255", "not in the allow list"},
		{"169.254.169.254", "metadata"}, {"100.100.100.200", "metadata"}, {"192.0.0.192", "metadata"},
		{"fd00:ec2::254", "metadata"},
		{"168.63.129.16", "management"},
		{"169.254.1.1", "link-local"}, {"fe80::1", "link-local"}, {"fe80::1%eth0", "link-local"},
		{"0.0.0.0", "unspecified"}, {"0.1.2.3", "unspecified"}, {"::", "unspecified"},
		{"224.0.0.1", "multicast"}, {"239.255.255.250", "multicast"}, {"ff02::1", "multicast"},
		{"255.255.255.255", "broadcast"}, {"240.0.0.1", "reserved"},
		{"::ffff:127.0.0.1", "IPv4 address in IPv6 form"}, {"::ffff:169.254.169.254", "IPv4 address in IPv6 form"},
		{"::ffff:7f00:1", "IPv4 address in IPv6 form"}, {"64:ff9b::7f00:1", "IPv4 address in IPv6 form"},
		{"64:ff9b:1::1", "IPv4 address in IPv6 form"}, {"2002:7f00:1::", "IPv4 address in IPv6 form"},
		{"2001::1", "IPv4 address in IPv6 form"}, {"::127.0.0.1", "IPv4 address in IPv6 form"},
		{"::2", "IPv4 address in IPv6 form"},
		{"::1%lo", "with a zone"},
		{"both.test", "addresses of this host and of others"}, {"hidden.test", "metadata"},
		{"mapped.test", "IPv4 address in IPv6 form"},
		{"empty.test", "has no address"},
		{"2130706433", "looks like a number"}, {"0x7f000001", "looks like a number"},
		{"0x7f.1", "looks like a number"},
		{"127.1", "looks like a number"}, {"127.0.0.01", "looks like a number"},
		{"0177.0.0.1", "looks like a number"},
		{"1.2.3.4.5", "looks like a number"}, {"evil.0x", "looks like a number"},
		{"127.0.0.1.", "looks like a number"},
		{"", "1 to 253 characters, not 0"}, {".", "1 to 253 characters, not 0"},
		{strings.Repeat("a.", 130) + "b", "1 to 253 characters, not 261"},
		{"a..b", "not a part"}, {"-a.test", "not a part"}, {strings.Repeat("a", 64) + ".test", "not a part"},
		{"１２７.0.0.1", "characters that host names do not have"},
		{"lоcalhost", "characters that host names do not have"},
		{"127.0.0.1\x00.test", "characters"}, {"a b.test", "characters"}, {"evil.test#", "characters"},
		{"evil.test\\@localhost", "characters"},
		{"user@localhost", "characters"}, {"[::1]", "characters"},
	}
	for _, c := range cases {
		ticket, err := guard(t).Admit(t.Context(), Request{Host: c.host, Port: 80, Rate: 1, Duration: time.Second})
		var refusal *Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Why, c.why) || refusal.Next == "" {
			t.Errorf("%q: ticket %+v, error %v, want a refusal: %s", c.host, ticket, err, c.why)
		}
		if len(ticket.Addresses) > 0 {
			t.Errorf("%q: refused, and addresses to connect to: %v", c.host, ticket.Addresses)
		}
	}
}

func TestUnknownName(t *testing.T) {
	_, err := guard(t).Admit(t.Context(), Request{Host: "nowhere.test", Port: 80})
	if err == nil || !strings.Contains(err.Error(), `looking up "nowhere.test": no such host: check the name`) {
		t.Errorf("error = %v", err)
	}
	if _, err := guard(t).Admit(t.Context(), Request{Host: "127.0.0.1"}); err == nil ||
		!strings.Contains(err.Error(), "port 0") {
		t.Errorf("error without a port = %v", err)
	}
}

// shop returns a load that the allow list permits at night.
func shop() Request {
	return Request{Scheme: "https", Host: "shop.example.org", Port: 443, Rate: 200, Duration: time.Minute}
}

func TestPermitted(t *testing.T) {
	var asked Proof
	g := guard(t)
	fetch := g.Fetch
	g.Fetch = func(ctx context.Context, p Proof) ([]byte, error) {
		asked = p
		return fetch(ctx, p)
	}
	got, err := g.Admit(t.Context(), shop())
	testset.Must(t, err)
	want := Ticket{
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("203.0.113.5:443")},
		MaxRate:   200,
		Until:     time.Date(2026, 11, 21, 4, 30, 0, 0, time.UTC), // 5:30 in Berlin
	}
	if !slices.Equal(got.Addresses, want.Addresses) || got.MaxRate != want.MaxRate ||
		!got.Until.Equal(want.Until) || got.Own {
		t.Errorf("ticket %+v, want %+v", got, want)
	}
	if (asked != Proof{want.Addresses[0], "https", "shop.example.org", "/.well-known/cleave-load.txt"}) {
		t.Errorf("proof was fetched from %+v", asked)
	}
	got, err = guard(t).Admit(t.Context(), Request{Host: "192.0.2.7", Port: 80, Rate: 10, Duration: time.Hour})
	if err != nil || got.MaxRate != 10 || !got.Until.Equal(time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("ticket %+v, %v", got, err)
	}
	upper := shop()
	upper.Host = "Shop.Example.ORG."
	g.Lookup = func(context.Context, string) ([]netip.Addr, error) { return addresses(t, "203.0.113.5"), nil }
	if _, err := g.Admit(t.Context(), upper); err != nil {
		t.Errorf("another spelling of the name: %v", err)
	}
}

// Long because it is a table.
func TestRefusedLoads(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Guard, *Request)
		why    string
	}{
		{"too fast", func(_ *Guard, r *Request) { r.Rate = 200.1 },
			"200.1 operations per second are planned and 200 are permitted"},
		{"no highest rate", func(_ *Guard, r *Request) { r.Rate = 0 }, "no highest rate"},
		{"not a number", func(_ *Guard, r *Request) { r.Rate = math.NaN() },
			"NaN operations per second are planned"},
		{"another port", func(_ *Guard, r *Request) { r.Port = 22 }, "not for this port"},
		{"too early", func(g *Guard, _ *Request) {
			g.Now = func() time.Time {
				return night().Add(-2 * time.Hour)
			}
		}, "at 22:00-05:30 Europe/Berlin only"},
		{"too long", func(_ *Guard, r *Request) { r.Duration = 7 * time.Hour },
			"would end after 2026-11-21T05:30:00+01:00"},
		{"expired", func(g *Guard, _ *Request) {
			g.Now = func() time.Time { return time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC) }
		}, "expired on 2026-12-31"},
		{"for ever", func(g *Guard, _ *Request) { g.Allowed[0].Expires = night().AddDate(2, 0, 0) },
			"more than a year"},
		{"another token", func(g *Guard, _ *Request) { g.Allowed[0].Token = "4f0c1a8be6d94c7fa1b3" },
			"not the token"},
		{"token and more", func(g *Guard, _ *Request) {
			g.Fetch = func(context.Context, Proof) ([]byte, error) {
				return []byte("<html>4f0c1a8be6d94c7fa1b2</html>"), nil
			}
		}, "not the token"},
		{"endless proof", func(g *Guard, _ *Request) {
			g.Fetch = func(context.Context, Proof) ([]byte, error) {
				return []byte("4f0c1a8be6d94c7fa1b2" + strings.Repeat(" ", MaxProof)), nil
			}
		}, "not the token"},
		{"no proof", func(g *Guard, _ *Request) {
			g.Fetch = func(context.Context, Proof) ([]byte, error) { return nil, errors.New("404") }
		}, "no proof that you control it"},
		{"not in the list", func(g *Guard, _ *Request) { g.Allowed = g.Allowed[1:] }, "not in the allow list"},
		{"now a metadata service", func(g *Guard, _ *Request) {
			g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
				return addresses(t, "169.254.169.254"), nil
			}
		}, "metadata"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := guard(t)
			r := shop()
			c.change(&g, &r)
			_, err := g.Admit(t.Context(), r)
			var refusal *Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Why, c.why) || refusal.Next == "" {
				t.Errorf("error %v, want a refusal: %s", err, c.why)
			}
		})
	}
	g := guard(t)
	g.Fetch = nil
	if _, err := g.Admit(t.Context(), shop()); err == nil || !strings.Contains(err.Error(), "no way to fetch") {
		t.Errorf("without a way to prove control: error %v", err)
	}
}

func TestMistakesInTheList(t *testing.T) {
	file, err := os.Open("testdata/mistakes.yaml")
	testset.Must(t, err)
	defer func() { _ = file.Close() }() // only read
	_, err = ReadList(file, "mistakes.yaml")
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"mistakes.yaml:2: ports are missing", "mistakes.yaml:2: owner is missing",
		"mistakes.yaml:2: token has 5 characters",
		`mistakes.yaml:2: max_rate: rate "fast"`, `mistakes.yaml:2: hours "at night"`,
		`mistakes.yaml:2: expires "tomorrow"`,
		`mistakes.yaml:9: host "169.254.169.254" is the metadata service`,
		"mistakes.yaml:9: token has blanks", `mistakes.yaml:9: hours "10:00-10:00"`,
		`mistakes.yaml:16: host "0x7f.1": it looks like a number`, `mistakes.yaml:16: max_rate: rate "-1/s"`,
		`mistakes.yaml:16: hours "10:00-11:00 Mars/Base": unknown time zone`,
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d mistakes, want %d:\n%v", len(got), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("mistake %d is %q, want %q...", i, got[i], want[i])
		}
	}
}

func TestListsThatAreRefused(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown key", "allow:\n  - host: a.test\n    maxrate: 5\n", `list:3: allow[0] has no key "maxrate"`},
		{"unknown key at the top", "allowed: []\n", `the allow list has no key "allowed"`},
		{"another file", "user=anna\npassword=hunter2\n", "list:1: this is a text, expected keys with values"},
		{"wrong kind", "allow: all\n", "expected a list"},
		{"entry of another kind", "allow: [all]\n", "expected keys with values"},
		{"port out of range", "allow:\n  - ports: [70000]\n", `"70000", expected a whole number`},
		{"not YAML", "allow: [", "this is no YAML"},
		{"two documents", "allow: []\n---\nallow: []\n", "more than one document"},
		{"an empty one before", "---\n---\nallow: []\n", "more than one document"},
		{"too long", strings.Repeat("#", 70_000), "at most 65536 are read"},
		{"too many", "allow: [" + strings.Repeat("{},", 101) + "]", "101 entries"},
	}
	for _, c := range cases {
		if _, err := ReadList(strings.NewReader(c.text), "list"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{"", "allow: []\n", "# nothing\n", "---\n", "allow:\n"} {
		if all, err := ReadList(strings.NewReader(text), "list"); err != nil || len(all) != 0 {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
}

// TestTheDocumentedList reads the example that users are shown.
func TestTheDocumentedList(t *testing.T) {
	text, err := os.ReadFile("../../docs/consent.md")
	testset.Must(t, err)
	var example strings.Builder
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "       "); ok {
			example.WriteString(code)
		}
	}
	all, err := ReadList(strings.NewReader(example.String()), "docs/consent.md")
	testset.Must(t, err)
	if len(all) != 1 || all[0].Host != "shop.example.org" || all[0].MaxRate != 200 ||
		all[0].Hours.String() != "22:00-05:30 Europe/Berlin" {
		t.Errorf("the example is %+v", all)
	}
	if !strings.Contains(string(text), ProofPath) {
		t.Errorf("the document does not name %s", ProofPath)
	}
}

func TestHours(t *testing.T) {
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		testset.Must(t, err)
		return moment
	}
	cases := []struct {
		hours, now string
		end        string // empty: closed
	}{
		{"09:00-17:00", "2026-06-01T09:00:00Z", "2026-06-01T17:00:00Z"},
		{"09:00-17:00", "2026-06-01T08:59:59Z", ""},
		{"09:00-17:00", "2026-06-01T17:00:00Z", ""},
		{"22:00-05:30", "2026-06-01T23:00:00Z", "2026-06-02T05:30:00Z"},
		{"22:00-05:30", "2026-06-02T05:29:59Z", "2026-06-02T05:30:00Z"},
		{"22:00-05:30", "2026-06-02T12:00:00Z", ""},
		{"22:00-05:30 Europe/Berlin", "2026-06-01T20:30:00Z", "2026-06-02T03:30:00Z"},
		// The night of 25 October 2026 has one hour more in Berlin.
		{"22:00-05:30 Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T04:30:00Z"},
		// The clocks skip the times from 2:00 to 3:00 on 29 March in Berlin and on 8 March in New York, and
		// those from 0:00 to 1:00 on 15 October 2017 in São Paulo.
		{"22:00-02:30 Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"22:00-02:30 Europe/Berlin", "2026-03-29T01:00:00Z", ""},
		{"22:00-02:00 Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"22:00-03:00 Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"22:00-03:30 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"02:10-02:50 Europe/Berlin", "2026-03-29T01:00:00Z", ""},
		{"02:30-04:00 Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"22:00-02:30 America/New_York", "2026-03-08T06:59:59Z", "2026-03-08T07:00:00Z"},
		{"02:30-04:00 America/New_York", "2026-03-08T06:59:59Z", ""},
		{"02:30-04:00 America/New_York", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"},
		{"22:00-00:30 America/Sao_Paulo", "2017-10-15T02:59:59Z", "2017-10-15T03:00:00Z"},
		{"00:30-04:00 America/Sao_Paulo", "2017-10-15T03:00:00Z", "2017-10-15T06:00:00Z"},
	}
	for _, c := range cases {
		h, err := ParseHours(c.hours)
		testset.Must(t, err)
		end, open := h.Until(at(c.now))
		if open != (c.end != "") || open && !end.Equal(at(c.end)) {
			t.Errorf("%s at %s: until %v, %v, want %q", c.hours, c.now, end, open, c.end)
		}
	}
	for _, bad := range []string{"", "9-17", "25:00-26:00", "09:00", "09:00-17:61", "09:00-17:00 Nowhere",
		"09:00-17:00 Local", "09:00-17:00 localtime"} {
		if _, err := ParseHours(bad); err == nil {
			t.Errorf("hours %q: no error", bad)
		}
	}
}

// FuzzAdmit: without an allow list, only loopback addresses are admitted, however a host is written.
func FuzzAdmit(f *testing.F) {
	for _, host := range []string{"127.0.0.1", "::ffff:1.2.3.4", "0x7f.1", "a.b", "::1%eth0"} {
		f.Add(host)
	}
	g := Guard{
		Now: night,
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("203.0.113.1")}, nil
		},
	}
	f.Fuzz(func(t *testing.T, host string) {
		ticket, err := g.Admit(t.Context(), Request{Host: host, Port: 80, Rate: 1})
		if err == nil && !ticket.Addresses[0].Addr().IsLoopback() {
			t.Fatalf("%q: %+v", host, ticket)
		}
	})
}

func FuzzReadList(f *testing.F) {
	for _, name := range []string{"testdata/allowed.yaml", "testdata/mistakes.yaml"} {
		text, err := os.ReadFile(name)
		testset.Must(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadList(strings.NewReader(text), "list")
		if err != nil {
			return
		}
		for _, p := range all {
			if p.Host == "" || len(p.Ports) == 0 || p.Owner == "" || p.MaxRate <= 0 || p.Expires.IsZero() ||
				len(p.Token) < minToken {
				t.Fatalf("accepted %+v", p)
			}
		}
	})
}
