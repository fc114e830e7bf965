package convert

import (
	"strings"
	"testing"
)

// TestControllersWithoutRequests: what sends nothing makes no flow of its own, and no share of flows.
func TestControllersWithoutRequests(t *testing.T) {
	unknown := tag("JDBCSampler", "Rows", "", "")
	for name, c := range map[string]struct{ below, noted string }{
		"if": {tag("IfController", "Maybe", prop("IfController.condition", "${__custom(UNSET)}"), ""),
			"no request below it is in the scenario"},
		"if around what is not converted": {tag("IfController", "Maybe",
			prop("IfController.condition", "${__custom(UNSET)}"), unknown), "speaks JDBC"},
		"throughput":            {share("Half", "50", ""), ""},
		"throughputs above one": {share("Most", "80", "") + share("Many", "70", ""), ""},
		"random":                {tag("RandomController", "Any", "", unknown+unknown), "speaks JDBC"},
	} {
		got := converts(t, plan(group("G", 1, sampler("First", "/first", "")+c.below+sampler("Last", "/last", ""))),
			Options{})
		if len(got.File.Flows) != 1 || len(got.File.Flows[0].Steps) != 2 {
			t.Errorf("%s: flows %+v, want one of two steps", name, got.File.Flows)
		}
		if c.noted != "" && !noted(&got, c.noted) {
			t.Errorf("%s: notes %v, want %q", name, got.NotConverted, c.noted)
		}
	}
}

// TestPlansThatCannotBeConverted: the error names what matters first.
func TestPlansThatCannotBeConverted(t *testing.T) {
	many := prop("ThreadGroup.ramp_time", "${__P(r)}") + prop("ThreadGroup.duration", "${__P(d)}")
	for name, c := range map[string]struct{ text, want string }{
		"a sampler behind settings": {plan(group("G", 2, tag("ResultCollector", "Tree", "", "")+
			tag("com.example.HTTP2Request", "R", "", ""), many)),
			"can be converted:\n- G > R: com.example.HTTP2Request: "},
		"another kind of group": {plan(tag("kg.apc.jmeter.threads.UltimateThreadGroup", "Peak", "",
			sampler("one", "/", ""))), "it has Peak (kg.apc.jmeter.threads.UltimateThreadGroup)"},
		"a disabled group": {strings.Replace(plan(group("G", 1, sampler("one", "/", ""))),
			`testname="G" enabled="true"`, `testname="G" enabled="false"`, 1), "it has G (disabled)"},
		"no group":            {plan(), "it has no other"},
		"an unknown encoding": {`<?xml version="1.0" encoding="x-none"?>` + plan(), "the encoding x-none is not known"},
	} {
		_, err := Convert("plan.jmx", []byte(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestPlanInAnotherEncoding(t *testing.T) {
	text := `<?xml version="1.0" encoding="ISO-8859-1"?>` +
		strings.Replace(plan(group("G", 1, sampler("Cafe", "/", ""))), "Cafe", "Caf\xe9", 1)
	c := converts(t, text, Options{})
	if got := c.File.Flows[0].Steps[0].Name; got != "Café" {
		t.Errorf("the step is called %q", got)
	}
}

// TestMatchesThatAreNotTheFirst: JMeter takes a random match for 0, and where none is given.
func TestMatchesThatAreNotTheFirst(t *testing.T) {
	for number, want := range map[string]string{"": "a random match of v", "0": "a random match of v",
		"${n}": "match ${n} of v: not a number"} {
		extractor := regex("a(.)", prop("RegexExtractor.template", "$1$"),
			prop("RegexExtractor.match_number", number))
		got := converts(t, plan(group("G", 1, sampler("A", "/", extractor)+sampler("B", "/${v}", ""))), Options{})
		if !noted(&got, want) {
			t.Errorf("%q: notes %v, want %q", number, got.NotConverted, want)
		}
	}
}
