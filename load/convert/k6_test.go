package convert

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

// scriptOf writes a script of k6.
func scriptOf(options, body string) string {
	return "import http from 'k6/http';\nimport { check, sleep, group } from 'k6';\n" +
		"import { randomIntBetween, uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';\n" +
		"export const options = " + options + ";\nexport default function () {\n" + body + "\n}\n"
}

// Long because it is a table.
func TestScriptsOfK6(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want scenario.Step // the last one
		note string
	}{
		"get": {`http.get('http://s/a b?c=d')`, scenario.Step{Request: "GET /a%20b?c=d"}, ""},
		"form": {`http.post('http://s/', {a: 'b c'})`, scenario.Step{Request: "POST /", Body: "a=b%20c",
			Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, ""},
		"name": {`http.del('http://s/1', null, {tags: {name: 'remove'}})`,
			scenario.Step{Name: "remove", Request: "DELETE /1"}, ""},
		"status": {`check(http.get('http://s/'), {ok: (r) => r.status === 200})`,
			scenario.Step{Request: "GET /", Expect: scenario.Expect{Status: "200"}}, ""},
		"range": {`check(http.get('http://s/'), {ok: (r) => r.status > 199 && r.status < 203})`,
			scenario.Step{Request: "GET /", Expect: scenario.Expect{Status: "200, 201, 202"}}, ""},
		"text": {`check(http.get('http://s/'), {ok: (r) => r.body.includes('${a}')})`,
			scenario.Step{Request: "GET /", Expect: scenario.Expect{Body: []string{"$${a}"}}}, ""},
		"text like a pattern": {`check(http.get('http://s/'), {ok: (r) => r.body.includes('re:(')})`,
			scenario.Step{Request: "GET /", Expect: scenario.Expect{Body: []string{`re:re:\(`}}}, ""},
		"empty text": {`check(http.get('http://s/'), {ok: (r) => r.body.includes('')})`,
			scenario.Step{Request: "GET /"}, ""},
		"generated text": {"const a = uuidv4(); const r = http.get(`http://s/${a}`); " +
			"check(r, {ok: (r) => r.body.includes(a), again: (r) => r.body.includes(a)})",
			scenario.Step{Request: "GET /${uuid}", Expect: scenario.Expect{Body: []string{"${uuid}"}}}, ""},
		"text of its own answer": {`check(http.get('http://s/'), {ok: (r) => r.body.includes(r.json('a'))})`,
			scenario.Step{Request: "GET /"}, "its value is not known when the answer comes"},
		"text of a variable": {`check(http.get('http://s/'), {ok: (r) => r.body.includes(__ENV.API_KEY)})`,
			scenario.Step{Request: "GET /"}, "expects {env:API_KEY}: its value is not known"},
		"text of another server": {`const r = http.get('http://other/'); http.get('http://s/');
			check(http.get('http://s/'), {ok: (r2) => r2.body.includes(r.json('a'))})`,
			scenario.Step{Request: "GET /"}, "expects {a}: its value is not known when the answer comes"},
		"text of a header": {`check(http.get('http://s/'), {
			ok: (r) => r.headers['Content-Type'].includes('json'),
			again: (r) => r.headers['content-type'].includes('utf')})`,
			scenario.Step{Request: "GET /",
				Expect: scenario.Expect{Header: map[string]string{"Content-Type": "json"}}},
			"expects utf in the header content-type: one text for each header"},
		"text of a cookie": {`check(http.get('http://s/'), {ok: (r) => r.cookies.a.includes('b')})`,
			scenario.Step{Request: "GET /"}, "check ok: only statuses, and texts"},
		"another check": {`check(http.get('http://s/'), {fast: (r) => r.timings.duration < 9})`,
			scenario.Step{Request: "GET /"}, "check fast: only statuses, and texts"},
		"pause": {`http.get('http://s/'); sleep(0.5)`, scenario.Step{Request: "GET /",
			Think: scenario.Duration(time.Second / 2)}, ""},
		"mean pause": {`http.get('http://s/'); sleep(randomIntBetween(1, 3))`, scenario.Step{Request: "GET /",
			Think: scenario.Duration(2 * time.Second)}, ""},
		"chance": {"http.get('http://s/' + Math.floor(Math.random() * 9)); sleep(Math.random() * 2)",
			scenario.Step{Request: "GET /4", Think: scenario.Duration(time.Second)}, "Math.random: 0.5"},
		"random": {"http.get(`http://s/${randomIntBetween(1, 3)}`)",
			scenario.Step{Request: "GET /${integer}"}, ""},
		"from JSON": {"const r = http.get('http://s/'); http.get(`http://s/x/${r.json().a[0].id}`)",
			scenario.Step{Request: "GET /x/${id}"}, ""},
		"by a path": {"const r = http.get('http://s/'); http.post('http://s/x', JSON.stringify({a: " +
			"r.json('b.c')}))", scenario.Step{Request: "POST /x", Body: `{"a":"${c}"}`}, ""},
		"parsed": {"const r = http.get('http://s/'); http.get('http://s/x/' + JSON.parse(r.body).b + " +
			"JSON.parse('[1]')[0])",
			scenario.Step{Request: "GET /x/${b}1"}, ""},
		"each of a list": {"http.get('http://s/').json('a').forEach((one) => http.get('http://s/x/' + one.b))",
			scenario.Step{Request: "GET /x/${b}"}, "a.forEach: the first item is taken"},
		"header": {"const r = http.get('http://s/'); http.get(r.headers['Location'])",
			scenario.Step{Request: "GET ${Location}"}, ""},
		"of no step": {"const r = http.get('http://other/'); http.get('http://s/'); " +
			"http.get(`http://s/${r.json('a')}`)", scenario.Step{Request: "GET /a"}, "the value a of its answer"},
		"environment": {"http.get('http://s/', {headers: {A: __ENV.API_KEY}})", scenario.Step{Request: "GET /",
			Headers: map[string]string{"A": "${env:API_KEY}"}}, "set the variable API_KEY"},
		"no server": {"http.get(`${__ENV.BASE}/a`)", scenario.Step{Request: "GET /a"}, "give it with --target"},
		"computed": {"const r = http.get('http://s/'); http.get('http://s/' + r.body.trim())",
			scenario.Step{Request: "GET /"}, "trim(): computed from an answer"},
		"pause first": {"sleep(2); http.get('http://s/')", scenario.Step{Request: "GET /"},
			"a pause before the first request: a flow begins with its first request"},
		"user": {"http.get('http://s/' + __VU)", scenario.Step{Request: "GET /1"},
			"__VU: a flow does not know"},
		"group": {"group('g', () => http.get('ws://s/')); http.get('http://s/')",
			scenario.Step{Request: "GET /"}, "g > request 1: GET ws://s/: websockets"},
	} {
		t.Run(name, func(t *testing.T) {
			got := converted(t, "a.js", scriptOf("{}", c.body), Options{})
			steps := got.File.Flows[0].Steps
			step := steps[len(steps)-1]
			step.Extract = nil
			if len(step.Headers) == 0 {
				step.Headers = nil
			}
			if c.want.Name == "" {
				step.Name = ""
			}
			if !reflect.DeepEqual(step, c.want) {
				t.Errorf("%+v\nwant %+v", step, c.want)
			}
			if c.note != "" {
				wantNote(t, &got, c.note)
			}
		})
	}
}

func TestLoadsOfK6(t *testing.T) {
	minute := scenario.Duration(time.Minute)
	for options, c := range map[string]struct {
		load *scenario.Load
		note string
	}{
		"{}":                                   {nil, ""},
		"{vus: 5, duration: '1m'}":             {&scenario.Load{Users: 5, Duration: minute}, ""},
		"{duration: '1m'}":                     {&scenario.Load{Users: 1, Duration: minute}, ""},
		"{vus: '5', duration: 60000}":          {&scenario.Load{Users: 5, Duration: minute}, ""},
		"{vus: 5, iterations: 9}":              {&scenario.Load{Users: 5}, "9 iterations: a load ends after"},
		"{vus: 5, duration: 'long'}":           {&scenario.Load{Users: 5}, "duration long: cannot be read"},
		"{thresholds: {checks: ['rate>0.9']}}": {nil, "threshold checks rate>0.9: no objective says this"},
		"{thresholds: {http_req_duration: ['p(95)<500', {threshold: 'avg<20'}],http_req_failed: " +
			"['rate<=0.01']}}": {
			nil, "thresholds: a load has its objective on the command line: --objective " +
				"'p95<500ms,mean<20ms,errors<=0.01'"},
		"{stages: [{duration: '10s', target: 9}, {duration: '50s', target: 9}, {duration: '5s', target: 0}]}": {
			&scenario.Load{Users: 9, RampUp: scenario.Duration(10 * time.Second), Duration: minute}, "the last stage"},
		"{stages: [{duration: '10s', target: 9}, {duration: '50s', target: 99}]}": {nil,
			"stages 9 in 10s, 99 in 50s"},
		"{scenarios: {a: {executor: 'ramping-arrival-rate', startRate: 9, stages: [{duration: '10s', target: " +
			"-1}]}}}": {nil, "stages -1 in 10s"},
		"{scenarios: {b: {executor: 'constant-vus', vus: 2, duration: '1m'}, a: {executor: " +
			"'constant-arrival-rate'," +
			" rate: 30, timeUnit: '1s', duration: '1m'}}}": {&scenario.Load{Rate: "1800/m", Duration: minute},
			"scenario b: a file has one load"},
		"{scenarios: {a: {executor: 'constant-arrival-rate', rate: 30, timeUnit: 'hour', duration: '1m'}}}": {nil,
			"timeUnit hour: cannot be read"},
		"{scenarios: {a: {executor: 'ramping-arrival-rate', startRate: 1, timeUnit: '1m', stages: [{duration: " +
			"'1m'," +
			" target: 60}]}}}": {&scenario.Load{Ramp: &scenario.Ramp{From: "1/m", To: "60/m"}, Duration: minute}, ""},
	} {
		t.Run(options, func(t *testing.T) {
			got := converted(t, "a.js", scriptOf(options, "http.get('http://s/')"), Options{})
			if !reflect.DeepEqual(got.File.Load, c.load) {
				t.Errorf("%+v, want %+v", got.File.Load, c.load)
			}
			if c.note != "" {
				wantNote(t, &got, c.note)
			}
		})
	}
}

// TestScriptsThatCannotBeRun end, within their limits, with one line.
func TestScriptsThatCannotBeRun(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"no request": {scriptOf("{}", ""), "no request of the script can be played"},
		"syntax":     {scriptOf("{", ""), "run the script: "},
		"exception":  {scriptOf("{}", "throw new Error('a\\nb')"), "a b"},
		"for ever":   {scriptOf("{}", "for (;;) {}"), "it did not end within 5s"},
		"all memory": {scriptOf("{}", "let all = 'x'; for (;;) all += all"),
			"it allocates more than"},
		"no end of calls": {scriptOf("{}", "const f = () => f(); f()"), "run the script: "},
		"all requests":    {scriptOf("{}", "for (;;) http.get('http://s/')"), "more than 2000 requests"},
		"nested": {scriptOf(strings.Repeat("[", 1000)+strings.Repeat("]", 1000), ""),
			"nested deeper than 500"},
		"large":            {scriptOf("'"+strings.Repeat("x", maxScript)+"'", ""), "more than 262144 bytes"},
		"from the network": {"import x from 'https://example.org/x.js'; import 'k6/http'", "is not fetched"},
		"another module":   {"import ws from 'k6/ws'; export default () => {}", "it imports k6/ws"},
		"from outside":     {"import x from '../x.js'; import 'k6/http'", "it imports ../x.js"},
		"a file outside":   {scriptOf("{}", "open('/etc/passwd')"), "only files in the input"},
		"no number":        {scriptOf("{vus: 'abc', duration: '1m'}", ""), `its options: "abc" is no number`},
		"infinity":         {scriptOf("{scenarios: {a: {rate: 'Infinity'}}}", ""), `its options: "Infinity" is no number`},
		"no map":           {scriptOf("{scenarios: [1]}", ""), "its options: json: cannot unmarshal array"},
		"no function":      {"import http from 'k6/http';", "it exports no function default"},
		"its own end":      {scriptOf("{}", "k6.state.requests = 7; http.get('http://s/')"), "run the script: "},
	} {
		message := wantRefusal(t, "a.js", c.source, Options{Format: K6, beside: fstest.MapFS{}}, c.want)
		if strings.Contains(message, "\n") {
			t.Errorf("%s: an error of several lines: %s", name, message)
		}
	}
}

// TestScriptsReadTheirFolder and nothing else.
func TestScriptsReadTheirFolder(t *testing.T) {
	files := fstest.MapFS{"x.js": {Data: []byte("export const path = '/x'")},
		"d/a.json": {Data: []byte(`["b"]`)}}
	source := "import {path} from './x.js'; import http from 'k6/http'; const all = " +
		"JSON.parse(open('./d/a.json'));\n" +
		"export default () => http.get('http://s' + path + all[0])"
	c := converted(t, "a.js", source, Options{beside: files})
	if got := c.File.Flows[0].Steps[0].Request; got != "GET /xb" {
		t.Errorf("request %q", got)
	}
}

// TestK6IsBounded checks that nesting does not exhaust the stack, which would end the program.
func TestK6IsBounded(t *testing.T) {
	testset.Need(t, "it runs scripts for seconds")
	for _, part := range []string{"!", "a=>", "new ", "a**", "`${", "({a:"} {
		text := "import 'k6/http'; export default " + strings.Repeat(part, (maxScript-100)/len(part)) + "1"
		if _, err := convert("a.js", []byte(text), Options{Format: K6}); err == nil {
			t.Errorf("deeply nested %s: no error", part)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", part, len(err.Error()))
		}
	}
}
