package oracle

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/load/record"
)

func TestOracleTellsRightFromWrong(t *testing.T) {
	document := `{"ok":true,"n":3,"price":9.50,"name":"tea","items":[{"id":7}],"none":null}`
	cases := []struct {
		name   string
		expect Expect
		status int
		body   string
		want   record.Outcome
	}{
		{"default", Expect{}, 200, "", record.OK},
		{"default, redirect", Expect{}, 302, "", record.OK},
		{"default, not found", Expect{}, 404, "", record.BadStatus},
		{"default, busy", Expect{}, 503, "", record.Rejected},
		{"default, too many", Expect{}, 429, "", record.Rejected},
		{"status expected", Expect{Status: "404"}, 404, "", record.OK},
		{"class expected", Expect{Status: "2xx"}, 302, "", record.BadStatus},
		{"ten statuses expected", Expect{Status: "20x"}, 209, "", record.OK},
		{"after ten statuses", Expect{Status: "20x"}, 210, "", record.BadStatus},
		{"range and list", Expect{Status: "200-204, 404"}, 203, "", record.OK},
		{"failure behind 200", Expect{Body: []string{`"ok":true`}}, 200, `{"ok":false}`, record.Failed},
		{"text", Expect{Body: []string{`"ok":true`}}, 200, document, record.OK},
		{"all texts", Expect{Body: []string{"tea", "coffee"}}, 200, document, record.Failed},
		{"pattern", Expect{Body: []string{`re:"id":\d`}}, 200, document, record.OK},
		{"pattern missed", Expect{Body: []string{`re:^tea`}}, 200, document, record.Failed},
		{"true", Expect{JSON: map[string]string{"ok": "true"}}, 200, document, record.OK},
		{"true is not a text", Expect{JSON: map[string]string{"ok": "false"}}, 200, document, record.Failed},
		{"number", Expect{JSON: map[string]string{"price": "9.5"}}, 200, document, record.OK},
		{"text in JSON", Expect{JSON: map[string]string{"name": "tea"}}, 200, document, record.OK},
		{"quoted text", Expect{JSON: map[string]string{"name": `"tea"`}}, 200, document, record.OK},
		{"in a list", Expect{JSON: map[string]string{"items.0.id": "7"}}, 200, document, record.OK},
		{"behind the list", Expect{JSON: map[string]string{"items.1.id": "7"}}, 200, document, record.Failed},
		{"no such field", Expect{JSON: map[string]string{"items.0.x": "7"}}, 200, document, record.Failed},
		{"null", Expect{JSON: map[string]string{"none": "null"}}, 200, document, record.OK},
		{"into a number", Expect{JSON: map[string]string{"n.x": "1"}}, 200, document, record.Failed},
		{"whole list", Expect{JSON: map[string]string{"items": `[{"id":7}]`}}, 200, document, record.OK},
		{"another list", Expect{JSON: map[string]string{"items": `[{"id":8}]`}}, 200, document, record.Failed},
		{"object for a list", Expect{JSON: map[string]string{"items": `{"id":7}`}}, 200, document, record.Failed},
		{"not JSON", Expect{JSON: map[string]string{"ok": "true"}}, 200, "oops", record.Failed},
		{"two documents", Expect{JSON: map[string]string{"ok": "true"}}, 200, `{"ok":true}{}`, record.Failed},
		{"large numbers differ", Expect{JSON: map[string]string{"n": "9007199254740993"}}, 200,
			`{"n":9007199254740992}`, record.Failed},
	}
	for _, c := range cases {
		oracle, err := New(c.expect)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// true asks for the complaint about a wrong answer.
		got, complaint := oracle.Judge(&Answer{Status: c.status, Body: []byte(c.body)}, true)
		if got != c.want || (complaint == "") != (c.want == record.OK) {
			t.Errorf("%s: outcome %s (%s), want %s", c.name, got, complaint, c.want)
		}
	}
}

func TestOracleDoesNotJudgeWhatItHasNotSeen(t *testing.T) {
	oracle, err := New(Expect{Body: []string{"end"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := oracle.Judge(&Answer{Status: 200, Body: []byte("begin"), Truncated: true},
		false); got != record.TooLarge {
		t.Errorf("outcome %s, want %s", got, record.TooLarge)
	}
}

func TestOracleSaysWhetherItReadsAnswers(t *testing.T) {
	for _, c := range []struct {
		expect  Expect
		checked bool
	}{{Expect{}, false}, {Expect{Status: "200"}, true}, {Expect{Body: []string{"x"}}, true},
		{Expect{JSON: map[string]string{"x": "1"}}, true}} {
		oracle, err := New(c.expect)
		if err != nil || oracle.Checked() != c.checked || oracle.String() == "" {
			t.Errorf("%+v: checked %v, %q, error %v", c.expect, oracle.Checked(), oracle.String(), err)
		}
	}
}

func TestHeadersAreJudged(t *testing.T) {
	header := []byte("Content-Type: application/json; charset=utf-8\r\nX-Empty:\r\nX-Twice: a\r\nX-Twice: " +
		"b\r\nbroken\r\n")
	cases := []struct {
		name, value string
		want        record.Outcome
	}{
		{"content-type", "application/json", record.OK},
		{"CONTENT-TYPE", "text/html", record.Failed},
		{"Content-Type", "re:^application/.*utf-8$", record.OK},
		{"Content-Type", "re:^json", record.Failed},
		{"X-Missing", "a", record.Failed},
		{"X-Empty", "a", record.Failed},
		{"X-Empty", "re:^$", record.OK},
		{"X-Missing", "re:^$", record.Failed},
		{"X-Twice", "a", record.OK},
		{"broken", "re:.*", record.OK}, // a line without a colon is a header with an empty value
	}
	for _, c := range cases {
		oracle, err := New(Expect{Header: map[string]string{c.name: c.value}})
		if err != nil || !oracle.Checked() || !oracle.ReadsHeader() || oracle.ReadsBody() {
			t.Errorf("%s: %+v, error %v", c.name, oracle, err)
		}
		got, complaint := oracle.Judge(&Answer{Status: 200, Header: header, Truncated: true}, true)
		if got != c.want || (complaint == "") != (c.want == record.OK) {
			t.Errorf("%s %q: outcome %s (%s), want %s", c.name, c.value, got, complaint, c.want)
		}
	}
}

func TestStatusesOfGRPC(t *testing.T) {
	cases := []struct {
		expect string
		status int
		want   record.Outcome
	}{
		{"", 0, record.OK},
		{"", 5, record.BadStatus},
		{"", 8, record.Rejected},
		{"", 14, record.Rejected},
		{"", 4, record.Timeout},
		{"", 200, record.BadStatus},
		{"", -1, record.BadStatus},
		{"NOT_FOUND", 5, record.OK},
		{"NOT_FOUND", 0, record.BadStatus},
		{"OK, 5,CANCELLED", 1, record.OK},
		{"OK, 5", 5, record.OK},
		{"UNAVAILABLE", 14, record.OK},
	}
	for _, c := range cases {
		oracle, err := NewGRPC(Expect{Status: c.expect})
		if err != nil || oracle.Checked() != (c.expect != "") {
			t.Errorf("%q: error %v, checked %v", c.expect, err, oracle.Checked())
		}
		got, complaint := oracle.Judge(&Answer{Status: c.status}, true)
		if got != c.want || (complaint == "") != (c.want == record.OK) {
			t.Errorf("%q, status %d: %s (%s), want %s", c.expect, c.status, got, complaint, c.want)
		}
	}
	for _, status := range []string{"17", "-1", "NOPE", "ok", "2xx", "OK,"} {
		if _, err := NewGRPC(Expect{Status: status}); err == nil {
			t.Errorf("%q: no error", status)
		}
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	for text, want := range map[string]bool{
		"9.5": true, "9.50": true, "95e-1": true, "0.95E1": true, `"9.5"`: false, "9.51": false,
		"9.500000000000000": false, "true": false, "1e999": false,
	} {
		oracle, err := New(Expect{JSON: map[string]string{"n": text}})
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range []string{"9.5", "9.50"} {
			got, _ := oracle.Judge(&Answer{Status: 200, Body: []byte(`{"n":` + number + `}`)}, false)
			if (got == record.OK) != want {
				t.Errorf("%s and %s: %s", number, text, got)
			}
		}
	}
	oracle, err := New(Expect{JSON: map[string]string{"n": "1e999"}})
	if got, _ := oracle.Judge(&Answer{Status: 200, Body: []byte(`{"n":2e999}`)}, false); err != nil ||
		got != record.Failed {
		t.Errorf("1e999 and 2e999: %s, error %v", got, err)
	}
}

func TestJSONIsExpected(t *testing.T) {
	oracle, err := New(Expect{})
	if err != nil {
		t.Fatal(err)
	}
	oracle.ExpectJSON()
	for body, want := range map[string]record.Outcome{"{}": record.OK, " 1 ": record.OK, "": record.Failed,
		"{}{}": record.Failed, "01": record.Failed} {
		if got, _ := oracle.Judge(&Answer{Status: 200, Body: []byte(body)}, false); got != want ||
			!oracle.ReadsBody() {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}

func TestExpectationAsOneText(t *testing.T) {
	path, value, err := SplitJSON("a.b=c=d")
	if path != "a.b" || value != "c=d" || err != nil {
		t.Errorf("%q, %q, %v", path, value, err)
	}
	for _, text := range []string{"", "a", "=b"} {
		if _, _, err := SplitJSON(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestExpectationsThatAreMistakes(t *testing.T) {
	_, err := New(Expect{
		Status: "20,99,600,300-200,abc,2x0,x00", Body: []string{"", "re:", "re:("},
		JSON: map[string]string{"": "1", "a..b": "1"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 12 {
		t.Errorf("%d mistakes are named, want 12:\n%v", len(lines), err)
	}
}
