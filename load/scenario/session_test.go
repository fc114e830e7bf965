package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
)

// compiled compiles a scenario with the files of a folder.
func compiled(t testing.TB, f *File, folder string) *Plan {
	t.Helper()
	plan, err := f.Compile(folder)
	testset.Must(t, err)
	return plan
}

// beginFlow compiles a scenario and begins its first flow.
func beginFlow(t testing.TB, f *File) (*Player, *Session) {
	t.Helper()
	p := compiled(t, f, "testdata").Player(Origin{Host: "h:80"})
	s := new(Session)
	p.Begin(s)
	return p, s
}

// passStep judges an answer that must be right and moves on.
func passStep(t *testing.T, s *Session, a Answer) {
	t.Helper()
	if outcome, complaint := s.Judge(&a, true); outcome != record.OK {
		t.Fatalf("outcome %s: %s", outcome, complaint)
	}
	if _, more := s.Next(record.OK); !more {
		t.Fatal("no further step")
	}
}

func TestRequests(t *testing.T) {
	cases := []struct {
		name string
		step Step
		want string
	}{
		{"plain", Step{Request: "GET /a?b=c"}, "GET /a?b=c HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\n\r\n"},
		{"own host, other accept", Step{Request: "GET /", Headers: map[string]string{"host": "x", "ACCEPT": "a"}},
			"GET / HTTP/1.1\r\nACCEPT: a\r\nhost: x\r\n\r\n"},
		{"no body, but a length", Step{Request: "POST /"},
			"POST / HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n"},
		{"body", Step{Request: "DELETE /", Body: "123"},
			"DELETE / HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nContent-Length: 3\r\n\r\n123"},
		{"JSON", Step{Request: "PUT /", JSON: []any{1, "a"}},
			"PUT / HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: " +
				"7\r\n\r\n[1,\"a\"]"},
		{"JSON of another type", Step{Request: "PATCH /", JSON: 1,
			Headers: map[string]string{"content-type": "application/merge-patch+json"}},
			"PATCH / HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\ncontent-type: " +
				"application/merge-patch+json\r\nContent-Length: 1\r\n\r\n1"},
		{"values everywhere", Step{Request: "POST /${c}?q=${c}",
			Headers: map[string]string{"X": "<${c}>", "Cookie": "a=${n}"}, Body: "${n}${c}"},
			"POST /a%20%22b%22?q=a%20%22b%22 HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nX: <a \"b\">\r\nCookie: " +
				"a=7\r\nContent-Length: 6\r\n\r\n7a \"b\""},
		{"not ASCII", Step{Request: "GET /é"}, "GET /%C3%A9 HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\n\r\n"},
		{"literal", Step{Request: "GET " + Literal("/${x}")},
			"GET /$%7Bx%7D HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\n\r\n"},
	}
	for _, c := range cases {
		f := Single(c.step)
		f.Headers = map[string]string{"Accept": "*/*"}
		f.Values = map[string]Value{"c": {Choice: []string{`a "b"`}}, "n": {Integer: &Range{7, 7}}}
		p, s := beginFlow(t, f)
		for range 2 {
			if got := string(s.HTTP1()); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			p.Begin(s)
		}
	}
}

// TestCallAndHTTP1Agree compares Call with HTTP1, with an origin that has a path, and on a connection that
// ends after the answer.
func TestCallAndHTTP1Agree(t *testing.T) {
	f := Single(Step{Request: "POST /${n}", Headers: map[string]string{"X": "a${n}", "Connection": "keep-alive"},
		Body: "b${n}"})
	f.Values = map[string]Value{"n": {Integer: &Range{7, 7}}}
	f.Flows[0].Steps = append(f.Flows[0].Steps, Step{Request: "GET ${n}",
		Headers: map[string]string{"Connection": "keep-alive"}})
	plan := compiled(t, f, "")
	p := plan.Player(Origin{Host: "h", Path: "/base/", Close: true})
	s := new(Session)
	p.Begin(s)
	want := Call{Method: "POST", Host: "h", Path: "/base/7",
		Header: []Field{{"Connection", "keep-alive"}, {"X", "a7"}}, Body: []byte("b7"), Sized: true}
	if got := s.Call(); !reflect.DeepEqual(got, want) {
		t.Errorf("call %+v, want %+v", got, want)
	}
	if got, want := string(s.HTTP1()), "POST /base/7 HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nX: "+
		"a7\r\nContent-Length: 2\r\n\r\nb7"; got != want {
		t.Errorf("request %q, want %q", got, want)
	}
	if !s.First() {
		t.Error("the first step is not the first one")
	}
	passStep(t, s, Answer{Status: 200, Header: []byte("Set-Cookie: a=b\r\n")})
	if got, want := string(s.HTTP1()),
		"GET /7 HTTP/1.1\r\nHost: h\r\nConnection: close\r\nCookie: a=b\r\n\r\n"; got != want {
		t.Errorf("request %q, want %q", got, want)
	}
	want = Call{Method: "GET", Host: "h", Path: "/7",
		Header: []Field{{"Connection", "keep-alive"}, {"Cookie", "a=b"}}, Body: []byte{}}
	if got := s.Call(); !reflect.DeepEqual(got, want) {
		t.Errorf("call %+v, want %+v", got, want)
	}
	if s.First() {
		t.Error("the last step is the first one")
	}
}

// TestShop plays a flow of the example against answers as a shop gives them.
func TestShop(t *testing.T) {
	p, s := beginFlow(t, parsed(t, "shop.yaml"))
	for s.Operation() != 0 {
		p.Begin(s)
	}
	login := s.Call()
	if text := string(login.Body); !strings.Contains(text, `"password":"secret, with`) &&
		!strings.Contains(text, `"password":"with \"quotes\""`) {
		t.Errorf("body %s", text)
	}
	passStep(t, s, Answer{Status: 200, Body: []byte(`{"ok":true,"session":{"token":"t-1"}}`)})
	order := string(s.HTTP1())
	if !strings.Contains(order, "\r\nAuthorization: Bearer t-1\r\n") {
		t.Errorf("request %q", order)
	}
	_, item, _ := strings.Cut(order, `"item":`)
	item, _, _ = strings.Cut(item, ",")
	created := Answer{Status: 201,
		Header: []byte("content-type: application/json; charset=utf-8\r\nLocation: http://h/orders/9\r\n"),
		Body:   []byte(`{"item":` + item + `,"status":"accepted"}`)}
	other := created
	other.Body = []byte(`{"item":0,"status":"accepted"}`)
	if outcome, complaint := s.Judge(&other, true); outcome != record.Failed ||
		!strings.Contains(complaint, "to have item="+item) {
		t.Errorf("outcome %s: %s", outcome, complaint)
	}
	_, key, _ := strings.Cut(order, "Idempotency-Key: ")
	key, _, _ = strings.Cut(key, "\r\n")
	if got, want := string(s.Notes()), `{"key":"`+key+`"}`; got != want {
		t.Errorf("notes %s, want %s", got, want)
	}
	if outcome, complaint := s.Judge(&created, true); outcome != record.OK {
		t.Fatalf("outcome %s: %s", outcome, complaint)
	}
	if got, want := string(s.Notes()), `{"key":"`+key+`","order":"http://h/orders/9"}`; got != want {
		t.Errorf("notes %s, want %s", got, want)
	}
	s.Next(record.OK)
	if got := string(s.HTTP1()); !strings.HasPrefix(got, "GET /orders/9 HTTP/1.1\r\n") || s.Notes() != nil {
		t.Errorf("request %q, notes %s", got, s.Notes())
	}
}

// TestNotesAreOfOneFlow: what an earlier flow extracted is not noted again.
func TestNotesAreOfOneFlow(t *testing.T) {
	f := Single(Step{Request: "GET /", Extract: map[string]Extraction{"id": {JSON: "id"}, "e": {JSON: "e"}},
		Note: []string{"id", "e"}})
	p, s := beginFlow(t, f)
	for _, c := range []struct{ body, want string }{
		{`{"id":1,"e":""}`, `{"id":"1","e":""}`},
		{`{}`, `{}`},
		{`{"id":"a\"b","e":true}`, `{"id":"a\"b","e":"true"}`},
	} {
		p.Begin(s)
		s.Judge(&Answer{Status: 200, Body: []byte(c.body)}, false)
		if got := string(s.Notes()); got != c.want {
			t.Errorf("notes %s, want %s", got, c.want)
		}
	}
}

func TestStepsAfterAFailureAreSkipped(t *testing.T) {
	f := Single(Step{Request: "GET /a", Think: Duration(time.Second)})
	f.Flows[0].Steps = append(f.Flows[0].Steps, Step{Request: "GET /b"}, Step{Request: "GET /a"},
		Step{Request: "GET /b"})
	p, s := beginFlow(t, f)
	if think, more := s.Next(record.OK); think != time.Second || !more || s.Operation() != 1 {
		t.Errorf("think %v, more %v, operation %d", think, more, s.Operation())
	}
	if _, more := s.Next(record.Failed); more {
		t.Error("a step after a failure")
	}
	if got, want := p.Skipped(), []int64{1, 1}; !slices.Equal(got, want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
}

func TestWhatIsKeptOfAnswers(t *testing.T) {
	check := func(Answer) error { return nil }
	cases := []struct {
		step         Step
		header, body bool
	}{
		{Step{}, false, false},
		{Step{Expect: Expect{Body: []string{"a"}}}, false, true},
		{Step{Expect: Expect{Body: []string{"${c}"}}}, false, true},
		{Step{Expect: Expect{Header: map[string]string{"A": "a"}}}, true, false},
		{Step{Expect: Expect{Header: map[string]string{"A": "${c}"}}}, true, false},
		{Step{Extract: map[string]Extraction{"a": {Header: "A"}}}, true, false},
		{Step{Extract: map[string]Extraction{"a": {JSON: "a"}}}, false, true},
		{Step{Extract: map[string]Extraction{"a": {Regexp: "a"}}}, false, true},
		{Step{Check: check}, true, true},
	}
	for _, c := range cases {
		c.step.Request = "HEAD /"
		f := Single(c.step)
		f.Values = map[string]Value{"c": {Choice: []string{"x"}}}
		_, s := beginFlow(t, f)
		if header, body := s.Needs(); header != c.header || body > 0 != c.body || !s.Bodiless() {
			t.Errorf("%+v: header %v, body %v, bodiless %v", c.step, header, body, s.Bodiless())
		}
		f.Flows[0].Steps = append(f.Flows[0].Steps, Step{Request: "GET /"})
		_, s = beginFlow(t, f)
		if header, _ := s.Needs(); !header {
			t.Errorf("%+v: cookies for the second step are not looked at", c.step)
		}
		f.Cookies = new(bool)
		_, s = beginFlow(t, f)
		if header, _ := s.Needs(); header != c.header {
			t.Errorf("%+v: cookies are looked at though they are off", c.step)
		}
	}
}

func TestJudgement(t *testing.T) {
	f := Single(Step{
		Request: "GET /${c}", Expect: Expect{Body: []string{"a${c}", "b"},
			Header: map[string]string{"A": "a", "C": "${c}"}},
		Extract: map[string]Extraction{"id": {JSON: "id"}, "etag": {Header: "ETag"}, "word": {Regexp: `w=(\w+)`},
			"all": {Regexp: `w=`}},
		Check: func(a Answer) error {
			if strings.Contains(string(a.Body), "sorry") {
				return errors.New("it is sorry")
			}
			return nil
		},
	})
	f.Values = map[string]Value{"c": {Choice: []string{"cc"}}}
	_, s := beginFlow(t, f)
	const header, body = "A: a\r\nC: cc\r\nETag: 1\r\n", `{"id":5,"x":"acc b w=hello"}`
	cases := []struct{ name, header, body, complaint string }{
		{"right", header, body, ""},
		{"no value in the body", header, strings.Replace(body, "acc", "abb", 1), `the body to contain "acc"`},
		{"no text in the body", header, strings.ReplaceAll(body, "b", "d"), `the body to contain "b"`},
		{"no value in the header", strings.Replace(header, "cc", "c", 1), body,
			`the header C to contain "cc", got "c"`},
		{"no header", header[6:], body, `the header A to contain "a", got none`},
		{"no header to extract", header[:13], body, "the header ETag in the answer, for etag"},
		{"no value to extract", header, strings.Replace(body, "id", "ID", 1), "the JSON value id, for id"},
		{"null is no value", header, strings.Replace(body, "5", "null", 1), "the JSON value id, for id"},
		{"no match to extract", header, strings.Replace(body, "hello", "", 1), `a match of "w=(\\w+)", for word`},
		{"no JSON", header, body + "}", "the body to be JSON"},
		{"check in Go", header, strings.Replace(body, "hello", "sorry", 1), "it is sorry"},
	}
	for _, c := range cases {
		a := Answer{Status: 200, Header: []byte(c.header), Body: []byte(c.body)}
		outcome, complaint := s.Judge(&a, true)
		if (outcome == record.OK) != (c.complaint == "") || !strings.Contains(complaint, c.complaint) {
			t.Errorf("%s: outcome %s, complaint %q, want %q", c.name, outcome, complaint, c.complaint)
		}
		if quiet, complaint := s.Judge(&a, false); quiet != outcome || complaint != "" {
			t.Errorf("%s: outcome %s, complaint %q without explanation", c.name, quiet, complaint)
		}
		if a.Truncated = true; c.name == "no value to extract" {
			if outcome, _ := s.Judge(&a, false); outcome != record.TooLarge {
				t.Errorf("%s: outcome %s of half an answer", c.name, outcome)
			}
		}
	}
}

// TestAnEmptyBodyCanMatch: engines pass nil or an empty slice for it.
func TestAnEmptyBodyCanMatch(t *testing.T) {
	for _, pattern := range []string{"^.*$", "^(.*)$"} {
		all := map[string]Extraction{"all": {Regexp: pattern}}
		_, s := beginFlow(t, Single(Step{Request: "GET /", Extract: all}))
		for _, body := range [][]byte{nil, {}} {
			if outcome, complaint := s.Judge(&Answer{Status: 200, Body: body}, true); outcome != record.OK {
				t.Errorf("%s of an empty body (nil: %t): %s", pattern, body == nil, complaint)
			}
		}
	}
}

// TestAnswersAreNotKept: an engine reads the next answer into the same memory.
func TestAnswersAreNotKept(t *testing.T) {
	f := Single(Step{Request: "GET /", Extract: map[string]Extraction{
		"a": {JSON: "a"}, "e": {JSON: "e"}, "b": {Header: "B"}, "c": {Regexp: "z."}, "o": {JSON: "o"}}})
	f.Flows[0].Steps = append(f.Flows[0].Steps, Step{Request: "POST /",
		JSON: []any{"${a}", "${b}", "${c}", "${o}", "${e}"}})
	_, s := beginFlow(t, f)
	header := []byte("b:  bb \r\nSet-Cookie: k=v\r\n")
	body := []byte(`{"a":"aa","n":"zz","o":[1,{}],"e":""}`)
	outcome, complaint := s.Judge(&Answer{Status: 200, Header: header, Body: body}, true)
	if outcome != record.OK {
		t.Fatal(complaint)
	}
	copy(header, strings.Repeat("x", len(header)))
	copy(body, strings.Repeat("x", len(body)))
	s.Next(record.OK)
	if got, want := string(s.Call().Body), `["aa","bb","zz",[1,{}],""]`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if got := s.Call().Header; !slices.Contains(got, Field{"Cookie", "k=v"}) {
		t.Errorf("header %v", got)
	}
}

// TestPasswordsOfURLsAreNotShown: in names of operations, how answers are judged, complaints and mistakes.
func TestPasswordsOfURLsAreNotShown(t *testing.T) {
	const address = "http://me:gehe@im@h/"
	f := Single(Step{Request: "GET /?from=" + address, Expect: Expect{Body: []string{address, "${place}"}}})
	f.Values = map[string]Value{"place": {Choice: []string{"http://me:gehe@im@other/"}}}
	plan := compiled(t, f, "")
	shown := append(plan.Operations(), plan.Checks()...)
	_, s := beginFlow(t, f)
	for _, body := range []string{"nothing", address} { // lacks the text, lacks the value
		_, complaint := s.Judge(&Answer{Status: 200, Body: []byte(body)}, true)
		shown = append(shown, complaint)
	}
	_, err := Single(Step{Request: "GET " + address}).Compile("")
	shown = append(shown, fmt.Sprint(err))
	for _, text := range shown {
		if strings.Contains(text, "gehe") || strings.Contains(text, "im@") ||
			!strings.Contains(text, "http://me:***@") {
			t.Errorf("shown is %q", text)
		}
	}
}

func TestLiteralExpectations(t *testing.T) {
	given := Expect{Status: "200", Body: []string{"${a}", `re:^\$\{`},
		Header: map[string]string{"A": "${b}", "B": `re:\$\{`}, JSON: map[string]string{"a": "${c}"}}
	_, s := beginFlow(t, Single(Step{Request: "GET /", Expect: given.Literal()}))
	a := Answer{Status: 200, Header: []byte("A: ${b}\r\nB: ${\r\n"), Body: []byte(`{"a":"${c}"}${a}`)}
	if outcome, complaint := s.Judge(&a, true); outcome != record.Failed ||
		!strings.Contains(complaint, `"^\\$\\{"`) {
		t.Errorf("outcome %s: %s", outcome, complaint)
	}
	given.Body = nil
	_, s = beginFlow(t, Single(Step{Request: "GET /", Expect: given.Literal()}))
	a.Body = []byte(`{"a":"${c}"}`)
	if outcome, complaint := s.Judge(&a, true); outcome != record.OK {
		t.Errorf("outcome %s: %s", outcome, complaint)
	}
}

func TestMistakesInGo(t *testing.T) {
	_, err := (&File{Flows: []Flow{{Steps: []Step{{Request: "GET /", Think: -1}}}}}).Compile("")
	want := "schema: schema is \"\", this cleave reads \"cleave-scenario/1\"\nthe scenario needs a name\n" +
		"flows[0].steps[0].think: think time -1ns is negative"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestWhatIsCheckedInWords(t *testing.T) {
	f := parsed(t, "shop.yaml")
	f.Flows[1].Steps = append(f.Flows[1].Steps, Step{Request: "GET /ping"}, Step{GRPC: "a.B/C"},
		Step{Name: "item", Request: "GET /items"})
	plan := compiled(t, f, "testdata")
	if got, want := plan.Unchecked(), []string{"item", "GET /ping", "a.B/C"}; !slices.Equal(got, want) {
		t.Errorf("unchecked %q, want %q", got, want)
	}
	want := []string{
		"status 200, json to have ok=true, has the JSON value $.session.token",
		`status 201, header Content-Type to contain "application/json", json to have status=accepted, json to have item=${item}, has the header Location`,
		"status 200-399, body to be JSON, json to have amount=${amount}",
		"status 200-399, body to be JSON, json to have id=${item}; or status 200-399",
		"status 200-399", "status OK",
	}
	if got := plan.Checks(); !slices.Equal(got, want) {
		t.Errorf("checks %q, want %q", got, want)
	}
	if http, grpc := plan.Protocols(); !http || !grpc {
		t.Errorf("HTTP %v, gRPC %v", http, grpc)
	}
}

func TestGRPC(t *testing.T) {
	f := Single(Step{GRPC: "shop.Orders/Place", JSON: map[string]any{"n": "${n}"},
		Headers: map[string]string{"X": "y"}, Expect: Expect{Status: "OK, ALREADY_EXISTS"}})
	f.Values = map[string]Value{"n": {Integer: &Range{7, 7}}}
	_, s := beginFlow(t, f)
	want := Call{GRPC: "shop.Orders/Place", Host: "h:80", Header: []Field{{"X", "y"}}, Body: []byte(`{"n":7}`),
		Sized: true}
	if got := s.Call(); !reflect.DeepEqual(got, want) {
		t.Errorf("call %+v, want %+v", got, want)
	}
	for code, want := range map[int]record.Outcome{0: record.OK, 6: record.OK, 5: record.BadStatus,
		8: record.Rejected, 4: record.Timeout} {
		if got, _ := s.Judge(&Answer{Status: code}, false); got != want {
			t.Errorf("code %d: %s, want %s", code, got, want)
		}
	}
}

// TestBodiesHaveALimit: it is the one in the documents.
func TestBodiesHaveALimit(t *testing.T) {
	for length, fits := range map[int]bool{16 << 20: true, 16<<20 + 1: false} {
		file := Single(Step{Request: "POST /", Body: strings.Repeat("x", length)})
		if _, err := file.Compile(""); (err == nil) != fits {
			t.Errorf("a body of %d bytes: error %v", length, err)
		}
	}
}
