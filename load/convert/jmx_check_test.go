package convert

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

func assertion(field string, kind int, texts ...string) string {
	var strings strings.Builder
	for _, text := range texts {
		strings.WriteString(prop("1", text))
	}
	return tag("ResponseAssertion", "Check", `<collectionProp name="Asserion.test_strings">`+strings.String()+
		`</collectionProp>`+
		prop("Assertion.test_field", "Assertion."+field)+`<intProp name="Assertion.test_type">`+strconv.Itoa(kind)+
		`</intProp>`, "")
}

func jsonAssertion(path, value string, more ...string) string {
	return tag("JSONPathAssertion", "Check", prop("JSON_PATH", path)+prop("EXPECTED_VALUE", value)+
		prop("JSONVALIDATION", "true")+prop("ISREGEX", "false")+strings.Join(more, ""), "")
}

// Long because it is a table.
func TestAssertions(t *testing.T) {
	type expect = scenario.Expect
	cases := []struct {
		name, below string
		want        expect
		note        string
	}{
		{"status", assertion("response_code", typeEquals, "201"), expect{Status: "201"}, ""},
		{"class of status", assertion("response_code", typeMatch, "2.."), expect{Status: "2xx"}, ""},
		{"pattern of status", assertion("response_code", typeContains, `^20\d$`), expect{Status: "20x"}, ""},
		{"other pattern of status", assertion("response_code", typeContains, "(200|201)"), expect{},
			"write it as 200"},
		{"one of two", assertion("response_code", typeEquals|typeOr, "200", "404"), expect{Status: "200,404"}, ""},
		{"two that differ", assertion("response_code", typeEquals, "200") +
			assertion("response_code", typeEquals, "201"), expect{Status: "200"}, "another assertion expects 200"},
		{"any status", strings.Replace(assertion("response_data", typeSubstring, "x"), "</ResponseAssertion>",
			prop("Assertion.assume_success", "true")+"</ResponseAssertion>", 1),
			expect{Status: "200-599", Body: []string{"x"}}, ""},
		{"text", assertion("response_data", typeSubstring, "a.b"), expect{Body: []string{"a.b"}}, ""},
		{"two texts", assertion("response_data", typeSubstring, "a", "b"), expect{Body: []string{"a", "b"}}, ""},
		{"either text", assertion("response_data", typeSubstring|typeOr, "a.", "b"),
			expect{Body: []string{`re:(?:a\.|b)`}}, ""},
		{"text that looks like a pattern", assertion("response_data", typeSubstring, "re:x"),
			expect{Body: []string{"re:re:x"}}, ""},
		{"text with a value", assertion("response_data", typeSubstring, "id ${__UUID}"),
			expect{Body: []string{"id ${uuid}"}}, ""},
		{"pattern", assertion("response_data", typeContains, "a.b"), expect{Body: []string{"re:a.b"}}, ""},
		{"whole pattern", assertion("response_data", typeMatch, "a|b"), expect{Body: []string{`re:\A(?:a|b)\z`}},
			""},
		{"equal", assertion("response_data", typeEquals, "a.b"), expect{Body: []string{`re:\Aa\.b\z`}}, ""},
		{"pattern of another kind", assertion("response_data", typeContains, "(?=a)b"), expect{},
			"not a regular expression here"},
		{"pattern with a value", assertion("response_data", typeContains, "a${__UUID}"), expect{},
			"patterns do not depend on values"},
		{"not", assertion("response_data", typeSubstring|typeNot, "error"), expect{}, "not what it must not have"},
		{"nothing", assertion("response_data", typeSubstring, ""), expect{}, "an empty text"},
		{"header", assertion("response_headers", typeSubstring, "Content-Type: text/html"),
			expect{Header: map[string]string{"Content-Type": "text/html"}}, ""},
		{"text in some header", assertion("response_headers", typeSubstring, "html"), expect{},
			"only a text of the form"},
		{"message", assertion("response_message", typeEquals, "OK"), expect{}, "only status, headers and body"},
		{"json", jsonAssertion("$.a[0]['b']", "7"), expect{JSON: map[string]string{"a.0.b": "7"}}, ""},
		{"json with a value", jsonAssertion("$.id", "${__UUID}"), expect{JSON: map[string]string{"id": "${uuid}"}},
			""},
		{"json wildcard", jsonAssertion("$.a[*].b", "7"), expect{JSON: map[string]string{"a.0.b": "7"}},
			"the first match is checked"},
		{"json deep scan", jsonAssertion("$..b", "7"), expect{}, "only paths of names and indices"},
		{"json pattern", strings.Replace(jsonAssertion("$.a", "7+"), prop("ISREGEX", "false"),
			prop("ISREGEX", "true"), 1), expect{}, "not a pattern"},
		{"json null", jsonAssertion("$.a", "", prop("EXPECT_NULL", "true")), expect{}, "to be null"},
		{"json not", jsonAssertion("$.a", "", prop("INVERT", "true")), expect{}, "only what an answer must have"},
		{"duration", tag("DurationAssertion", "D", prop("DurationAssertion.duration", "500"), ""), expect{},
			"at most 500 ms"},
		{"size", tag("SizeAssertion", "S", "", ""), expect{}, "answers are not checked for this"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			samplers := sampler("A", "/a?${__UUID}", c.below) + sampler("B", "/b", "")
			got := converts(t, plan(jar(), group("G", 1, samplers)), Options{})
			want := c.want
			for i, text := range want.Body { // the path has the first draw
				want.Body[i] = strings.ReplaceAll(text, "${uuid}", "${uuid_2}")
			}
			if want.JSON["id"] != "" {
				want.JSON["id"] = "${uuid_2}"
			}
			if got := got.File.Flows[0].Steps[0].Expect; !reflect.DeepEqual(got, want) {
				t.Errorf("expect %+v, want %+v", got, want)
			}
			if other := got.File.Flows[0].Steps[1].Expect; !reflect.DeepEqual(other, expect{}) {
				t.Errorf("the other step expects %+v", other)
			}
			wantNote(t, &got, c.note)
		})
	}
}

func TestAssertionThatAPathExists(t *testing.T) {
	below := tag("JSONPathAssertion", "Check", prop("JSON_PATH", "$.id")+prop("JSONVALIDATION", "false"), "")
	got := converts(t, plan(group("G", 1, sampler("A", "/a", below))), Options{})
	want := map[string]scenario.Extraction{"exists": {JSON: "id"}}
	if extract := got.File.Flows[0].Steps[0].Extract; !reflect.DeepEqual(extract, want) {
		t.Errorf("extract %v, want %v", extract, want)
	}
}

// regex returns an extractor of the first match, unless more says otherwise.
func regex(pattern string, more ...string) string {
	if !strings.Contains(strings.Join(more, ""), "match_number") {
		more = append(more, prop("RegexExtractor.match_number", "1"))
	}
	return tag("RegexExtractor", "X", prop("RegexExtractor.refname", "v")+prop("RegexExtractor.regex", pattern)+
		strings.Join(more, ""), "")
}

func jsonExtractor(names, paths string, more ...string) string {
	return tag("JSONPostProcessor", "X", prop("JSONPostProcessor.referenceNames", names)+
		prop("JSONPostProcessor.jsonPathExprs", paths)+strings.Join(more, ""), "")
}

func TestExtractors(t *testing.T) {
	type ex = scenario.Extraction
	of := func(what string) string { return prop("RegexExtractor.useHeaders", what) }
	template := func(text string) string { return prop("RegexExtractor.template", text) }
	number := func(n string) string { return prop("JSONPostProcessor.match_numbers", n) }
	cases := []struct {
		name, below string
		want        map[string]ex
		note        string
	}{
		{"regex", regex("a(.)", template("$1$")), map[string]ex{"v": {Regexp: "a(.)"}}, ""},
		{"whole match", regex("a(.)", template("$0$")), map[string]ex{"v": {Regexp: "(a(.))"}}, ""},
		{"second group", regex("a(.)(.)", template("$2$")), nil, "only the first group"},
		{"default", regex("a(.)", template("$1$"), prop("RegexExtractor.default", "none")),
			map[string]ex{"v": {Regexp: "a(.)"}}, "RegexExtractor.default = none: an answer without"},
		{"random match", regex("a(.)", template("$1$"), prop("RegexExtractor.match_number", "0")),
			map[string]ex{"v": {Regexp: "a(.)"}}, "a random match of v"},
		{"all matches", regex("a(.)", template("$1$"), prop("RegexExtractor.match_number", "-1")), nil,
			"all matches of v"},
		{"third match", regex("a(.)", template("$1$"), prop("RegexExtractor.match_number", "3")), nil,
			"only the first match"},
		{"another kind of pattern", regex("(?<!a)(.)", template("$1$")), nil, "not a regular expression here"},
		{"pattern with a constant", regex("${k}(.)", template("$1$")) + userVariable("k", "b"),
			map[string]ex{"v": {Regexp: "b(.)"}}, ""},
		{"pattern with a value", regex("${__UUID}(.)", template("$1$")), nil, "patterns do not depend on values"},
		{"whole header", regex("Location: (.+)", template("$1$"), of("true")),
			map[string]ex{"v": {Header: "Location"}}, ""},
		{"part of a header", regex(`Location: .*/(\d+)`, template("$1$"), of("true")), nil, "only a whole header"},
		{"from the URL", regex("a(.)", template("$1$"), of("URL")), nil, "headers and bodies only"},
		{"json", jsonExtractor("v", "$.a.b[2]"), map[string]ex{"v": {JSON: "a.b.2"}}, ""},
		{"json of two", jsonExtractor("v;w", `$["a"];$.b`), map[string]ex{"v": {JSON: "a"}, "w": {JSON: "b"}}, ""},
		{"json second match", jsonExtractor("v", "$.a[*].id", number("2")), map[string]ex{"v": {JSON: "a.1.id"}},
			""},
		{"json random match", jsonExtractor("v", "$[*].id", number("0")), map[string]ex{"v": {JSON: "0.id"}},
			"a random match"},
		{"json all matches", jsonExtractor("v", "$.a[*].id", number("-1")), nil, "all matches of v"},
		{"json filter", jsonExtractor("v", "$.a[?(@.b==1)].id"), nil, "only paths of names and indices"},
		{"json without a path", jsonExtractor("v;w", "$.a"), map[string]ex{"v": {JSON: "a"}}, "variable w"},
		{"of a variable", regex("a(.)", template("$1$"), prop("Sample.scope", "variable")), nil,
			"values are taken from answers only"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, plan(jar(), group("G", 1, sampler("A", "/a", c.below)+sampler("B", "/${v}", ""))),
				Options{})
			steps := got.File.Flows[0].Steps
			if !reflect.DeepEqual(steps[0].Extract, c.want) {
				t.Errorf("extract %v, want %v", steps[0].Extract, c.want)
			}
			request := "GET /${v}"
			if c.want == nil {
				request = "GET /$${v}"
			}
			if steps[1].Request != request {
				t.Errorf("request %q, want %q", steps[1].Request, request)
			}
			wantNote(t, &got, c.note)
		})
	}
}

func TestValuesThatNoEarlierStepGives(t *testing.T) {
	x := jsonExtractor("v", "$.a")
	use := sampler("B", "/${v}", "")
	cases := []struct{ name, below, request, note string }{
		{"used before it is taken", use + sampler("A", "/a", x), "GET /$${v}", "no step before it"},
		{"with a first value", userVariable("v", "x y") + use + sampler("A", "/a", x), "GET /x%20y", ""},
		{"taken below a controller that is listed", sampler("C", "/c", "") +
			tag("RandomController", "R", "", sampler("A", "/a", x)) + use, "GET /$${v}",
			"nothing in what was converted sets this variable"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := convert("p.jmx", []byte(plan(group("G", 1, c.below))), Options{})
			testset.Must(t, err)
			for _, s := range got.File.Flows[0].Steps {
				if s.Name == "B" && s.Request != c.request {
					t.Errorf("request %q, want %q", s.Request, c.request)
				}
			}
			if c.note != "" {
				wantNote(t, &got, c.note)
			}
		})
	}
}
