package convert

import (
	"strings"
	"testing"
)

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
		t.Run(name, func(t *testing.T) { wantRefusal(t, "plan.jmx", c.text, Options{}, c.want) })
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

// TestMatchesThatAreNotTheFirst: JMeter takes a random match for 0, and if there is no number.
func TestMatchesThatAreNotTheFirst(t *testing.T) {
	for number, want := range map[string]string{"": "a random match of v", "0": "a random match of v",
		"${n}": "match ${n} of v: not a number"} {
		extractor := regex("a(.)", prop("RegexExtractor.template", "$1$"),
			prop("RegexExtractor.match_number", number))
		got := converts(t, plan(group("G", 1, sampler("A", "/", extractor)+sampler("B", "/${v}", ""))), Options{})
		wantNote(t, &got, want)
	}
}
