package engine

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
		{"range and list", Expect{Status: "200-204, 404"}, 203, "", record.OK},
		{"failure behind 200", Expect{Body: []string{`"ok":true`}}, 200, `{"ok":false}`, record.Failed},
		{"text", Expect{Body: []string{`"ok":true`}}, 200, document, record.OK},
		{"all texts", Expect{Body: []string{"tea", "coffee"}}, 200, document, record.Failed},
		{"pattern", Expect{Body: []string{`re:"id":\d`}}, 200, document, record.OK},
		{"pattern missed", Expect{Body: []string{`re:^tea`}}, 200, document, record.Failed},
		{"true", Expect{JSON: []string{"ok=true"}}, 200, document, record.OK},
		{"true is not a text", Expect{JSON: []string{"ok=false"}}, 200, document, record.Failed},
		{"number", Expect{JSON: []string{"price=9.5"}}, 200, document, record.OK},
		{"text in JSON", Expect{JSON: []string{"name=tea"}}, 200, document, record.OK},
		{"quoted text", Expect{JSON: []string{`name="tea"`}}, 200, document, record.OK},
		{"in a list", Expect{JSON: []string{"items.0.id=7"}}, 200, document, record.OK},
		{"behind the list", Expect{JSON: []string{"items.1.id=7"}}, 200, document, record.Failed},
		{"no such field", Expect{JSON: []string{"items.0.x=7"}}, 200, document, record.Failed},
		{"null", Expect{JSON: []string{"none=null"}}, 200, document, record.OK},
		{"into a number", Expect{JSON: []string{"n.x=1"}}, 200, document, record.Failed},
		{"whole list", Expect{JSON: []string{`items=[{"id":7}]`}}, 200, document, record.OK},
		{"not JSON", Expect{JSON: []string{"ok=true"}}, 200, "oops", record.Failed},
		{"two documents", Expect{JSON: []string{"ok=true"}}, 200, `{"ok":true}{}`, record.Failed},
		{"large numbers differ", Expect{JSON: []string{"n=9007199254740993"}}, 200, `{"n":9007199254740992}`, record.Failed},
	}
	for _, c := range cases {
		oracle, err := NewOracle(c.expect)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, complaint := oracle.judge(&response{status: c.status, body: []byte(c.body)}, true)
		if got != c.want || (complaint == "") != (c.want == record.OK) {
			t.Errorf("%s: outcome %s (%s), want %s", c.name, got, complaint, c.want)
		}
	}
}

func TestOracleDoesNotJudgeWhatItHasNotSeen(t *testing.T) {
	oracle, err := NewOracle(Expect{Body: []string{"end"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := oracle.judge(&response{status: 200, body: []byte("begin"), truncated: true}, false); got != record.TooLarge {
		t.Errorf("outcome %s, want %s", got, record.TooLarge)
	}
}

func TestOracleSaysWhetherItReadsAnswers(t *testing.T) {
	for _, c := range []struct {
		expect  Expect
		checked bool
	}{{Expect{}, false}, {Expect{Status: "200"}, true}, {Expect{Body: []string{"x"}}, true}, {Expect{JSON: []string{"x=1"}}, true}} {
		oracle, err := NewOracle(c.expect)
		if err != nil || oracle.Checked() != c.checked || oracle.String() == "" {
			t.Errorf("%+v: checked %v, %q, error %v", c.expect, oracle.Checked(), oracle.String(), err)
		}
	}
}

func TestExpectationsThatAreMistakes(t *testing.T) {
	_, err := NewOracle(Expect{
		Status: "20,99,600,300-200,abc", Body: []string{"", "re:", "re:("}, JSON: []string{"x", "=1"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 10 {
		t.Errorf("%d mistakes are named, want 10:\n%v", len(lines), err)
	}
}
