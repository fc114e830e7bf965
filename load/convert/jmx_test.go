package convert

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/load/scenario"
)

// The helpers below write elements of test plans as JMeter does. In a scenario "$${" stands for a plain
// "${": a step with "$${v}" sends the text "${v}".

func prop(name, value string) string {
	return fmt.Sprintf("<stringProp name=%q>%s</stringProp>", name, escapeXML(value))
}

func tag(class, name, inside, below string) string {
	return fmt.Sprintf(`<%s testclass="%s" testname=%q enabled="true">%s</%s><hashTree>%s</hashTree>`, class,
		class, name, inside, class, below)
}

func sampler(name, path, below string, more ...string) string {
	return tag("HTTPSamplerProxy", name, prop("HTTPSampler.domain", "127.0.0.1")+prop("HTTPSampler.path", path)+
		prop("HTTPSampler.method", "GET")+strings.Join(more, ""), below)
}

func arguments(each ...string) string {
	return `<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">` + strings.Join(each, "") + `</collectionProp></elementProp>`
}

func argument(name, value string, encode, equals bool) string {
	return fmt.Sprintf(`<elementProp name="" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">%t</boolProp><boolProp name="HTTPArgument.use_equals">%t</boolProp>%s%s</elementProp>`,
		encode, equals, prop("Argument.name", name), prop("Argument.value", value))
}

func userVariable(name, value string) string {
	return tag("Arguments", "User Defined Variables",
		`<collectionProp name="Arguments.arguments"><elementProp name="x" elementType="Argument">`+
			prop("Argument.name", name)+prop("Argument.value", value)+`</elementProp></collectionProp>`, "")
}

// jar returns a cookie manager that needs no note.
func jar() string {
	return tag("CookieManager", "Jar", prop("CookieManager.clearEachIteration", "true"), "")
}

// group returns a thread group that needs no note: it repeats its samplers for a minute. If there are more
// settings, they replace this duration and the ramp-up.
func group(name string, threads int, below string, more ...string) string {
	settings := prop("ThreadGroup.num_threads", fmt.Sprint(threads)) +
		prop("ThreadGroup.on_sample_error", "startnextloop") +
		prop("ThreadGroup.same_user_on_next_iteration", "false") + prop("ThreadGroup.scheduler", "true") +
		`<elementProp name="ThreadGroup.main_controller" elementType="LoopController">` +
		prop("LoopController.loops", "-1") + `</elementProp>`
	if len(more) == 0 {
		settings += prop("ThreadGroup.duration", "60") + prop("ThreadGroup.ramp_time", "2")
	}
	return tag("ThreadGroup", name, settings+strings.Join(more, ""), below)
}

// concurrency returns a Concurrency Thread Group, of a plugin of JMeter: it holds a number of users.
func concurrency(name, below string, settings ...string) string {
	return tag(concurrencyGroup, name,
		prop("ThreadGroup.on_sample_error", "startnextloop")+strings.Join(settings, ""), below)
}

func TestAGroupThatHoldsUsers(t *testing.T) {
	for name, c := range map[string]struct {
		settings       []string
		ramp, duration time.Duration
		note           string
	}{
		"minutes": {[]string{prop("TargetLevel", "30"), prop("RampUp", "2"), prop("Steps", "5"), prop("Hold", "10"),
			prop("Unit", "M")},
			2 * time.Minute, 12 * time.Minute, "Steps = 5: users come one by one"},
		"seconds": {[]string{prop("TargetLevel", "30"), prop("RampUp", "20"), prop("Steps", "1"),
			prop("Hold", "40"), prop("Unit", "S"), prop("Iterations", "3")},
			20 * time.Second, time.Minute, "Iterations = 3: a load ends after a time"},
	} {
		got := converts(t, plan(concurrency("Held", sampler("Look", "/n-${__threadNum}", ""), c.settings...)),
			Options{})
		load := got.File.Load
		if load.Users != 30 || time.Duration(load.RampUp) != c.ramp || time.Duration(load.Duration) != c.duration ||
			!noted(&got, c.note) {
			t.Errorf("%s: %+v, notes %v; want %q", name, load, got.NotConverted, c.note)
		}
		if drawn := got.File.Values["thread"].Integer; drawn == nil || drawn.To != 30 {
			t.Errorf("%s: the number of a user is drawn from %+v", name, drawn)
		}
	}
}

func plan(below ...string) string {
	return `<jmeterTestPlan version="1.2"><hashTree>` + tag("TestPlan", "Plan", "", strings.Join(below, "")) +
		`</hashTree></jmeterTestPlan>`
}

// converts converts a plan and checks that the scenario is a valid one.
func converts(t *testing.T, text string, options Options) Conversion {
	t.Helper()
	return converted(t, "plan.jmx", text, options)
}

// noted reports whether a note has a text.
func noted(c *Conversion, text string) bool {
	for _, n := range c.NotConverted {
		if strings.Contains(n.String(), text) {
			return true
		}
	}
	return false
}

// wantNote fails without such a note. An empty text: it fails if there is any note.
func wantNote(t *testing.T, c *Conversion, text string) {
	t.Helper()
	if text == "" && len(c.NotConverted) > 0 || !noted(c, text) && text != "" {
		t.Errorf("notes %v, want one with %q", c.NotConverted, text)
	}
}

func throughput(name, value, mode string) string {
	return tag("ConstantThroughputTimer", name, `<doubleProp><name>throughput</name><value>`+value+
		`</value><savedValue>0.0</savedValue></doubleProp>`+
		`<intProp name="calcMode">`+mode+`</intProp>`, "")
}

func precise(value, period string) string {
	return tag("PreciseThroughputTimer", "Precise",
		`<doubleProp><name>throughput</name><value>`+value+`</value></doubleProp>`+
			`<intProp name="throughputPeriod">`+period+`</intProp><longProp name="duration">30</longProp>`, "")
}

// Long because it is a table.
func TestLoads(t *testing.T) {
	a := sampler("A", "/a", "")
	b := sampler("B", "/b", "")
	minute := scenario.Duration(time.Minute)
	users := func(n int) scenario.Load {
		return scenario.Load{Users: n, RampUp: scenario.Duration(2 * time.Second), Duration: minute}
	}
	cases := []struct {
		name    string
		plan    string
		options Options
		load    scenario.Load
		weights []float64
		note    string
	}{
		{"users", plan(jar(),
			group("G", 10, a)), Options{}, users(10), []float64{0}, ""},
		{"no scheduler", plan(group("G", 10, a, prop("ThreadGroup.scheduler", "false"))), Options{},
			scenario.Load{Users: 10}, []float64{0}, "an endless load"},
		{"delay", plan(group("G", 10, a, prop("ThreadGroup.delay", "5"))), Options{}, scenario.Load{Users: 10},
			[]float64{0}, "a startup delay of 5s"},
		{"two groups agree", plan(group("G", 10, a), group("H", 30, b)), Options{}, users(40), []float64{10, 30},
			"each stays in its group"},
		{"two groups differ", plan(group("G", 10, a), group("H", 30, b, prop("ThreadGroup.ramp_time", "9"))),
			Options{}, users(10), []float64{10},
			"H: ThreadGroup with the 1 elements below it: its load differs from that of G"},
		{"one group chosen", plan(group("G", 10, a), group("H", 30, b)), Options{Group: "H"}, users(30),
			[]float64{0}, "only the thread group H was asked for"},
		{"rate of the group", plan(group("G", 10, throughput("T", "120.0", "2")+a+b)), Options{},
			scenario.Load{Rate: "60/m", Duration: minute}, []float64{0}, "the rate is a limit"},
		{"rate of each thread", plan(group("G", 10, throughput("T", "120.0", "0")+a+b)), Options{},
			scenario.Load{Rate: "600/m", Duration: minute}, []float64{0}, "1200 requests per minute"},
		{"rate on one sampler", plan(group("G", 10, sampler("A", "/a", throughput("T", "120.0", "2"))+b)),
			Options{}, scenario.Load{Rate: "120/m", Duration: minute}, []float64{0}, "120 flows per minute"},
		{"lowest of two rates", plan(group("G", 10, throughput("T", "120.0", "2")+
			sampler("A", "/a", throughput("U", "30.0", "2")))), Options{},
			scenario.Load{Rate: "30/m", Duration: minute}, []float64{0}, "an open loop"},
		{"rate over all groups", plan(throughput("T", "400.0", "1"), group("G", 10, a), group("H", 30, b)),
			Options{}, scenario.Load{Rate: "400/m", Duration: minute}, []float64{100, 300}, "an open loop"},
		{"rate for each group", plan(throughput("T", "400.0", "2"), group("G", 10, a), group("H", 30, b)),
			Options{}, scenario.Load{Rate: "800/m", Duration: minute}, []float64{400, 400}, "an open loop"},
		{"rate and users", plan(group("G", 10, a), group("H", 30, throughput("T", "60.0", "2")+b)), Options{},
			users(10), []float64{10}, "its load differs"},
		{"precise timer", plan(group("G", 10, precise("7200", "3600")+a)), Options{},
			scenario.Load{Rate: "120/m", Arrivals: "poisson", Duration: scenario.Duration(30 * time.Second)},
			[]float64{0}, "an open loop"},
		{"rate that depends", plan(group("G", 10, throughput("T", "${rate}", "2")+a)), Options{}, users(10),
			[]float64{0}, "not a number above 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, c.plan, c.options)
			if !reflect.DeepEqual(*got.File.Load, c.load) {
				t.Errorf("load %+v, want %+v", *got.File.Load, c.load)
			}
			var weights []float64
			for _, f := range got.File.Flows {
				weights = append(weights, f.Weight)
			}
			if !reflect.DeepEqual(weights, c.weights) {
				t.Errorf("weights %v, want %v", weights, c.weights)
			}
			wantNote(t, &got, c.note)
		})
	}
}

// flowsOf writes flows as "weight: step, step".
func flowsOf(c *Conversion) []string {
	var all []string
	for _, f := range c.File.Flows {
		var names []string
		for _, s := range f.Steps {
			names = append(names, strings.TrimPrefix(s.Request, "GET /"))
		}
		all = append(all, fmt.Sprintf("%g: %s", f.Weight, strings.Join(names, " ")))
	}
	return all
}

func TestControllers(t *testing.T) {
	a := sampler("A", "/a", "")
	b := sampler("B", "/b", "")
	c := sampler("C", "/c", "")
	off := strings.Replace(b, `enabled="true"`, `enabled="false"`, 1)
	cases := []struct {
		name, below string
		flows       []string
		note        string
	}{
		{"in order", a + tag("GenericController", "S", "", b) + c, []string{"0: a b c"}, ""},
		{"disabled", a + off + c, []string{"0: a c"}, "G > B: HTTPSamplerProxy: disabled"},
		{"transaction", tag("TransactionController", "T", "", a+b), []string{"0: a b"},
			"the time of the transaction"},
		{"once only", tag("OnceOnlyController", "O", "", a) + b, []string{"0: a b"}, "in every flow"},
		{"while", a + tag("WhileController", "W", "", b+c), []string{"0: a"},
			"WhileController with the 2 elements below it: a controller that repeats or chooses"},
		{"other sampler", a + tag("JDBCSampler", "D", "", ""), []string{"0: a"},
			"G > D: JDBCSampler: not a request over HTTP, or not reached; a scenario"},
		{"unknown element", a + tag("com.example.Strange", "D", "", b), []string{"0: a"},
			"com.example.Strange with the 1 elements below it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, plan(jar(),
				group("G", 10, c.below)), Options{})
			if flows := flowsOf(&got); !reflect.DeepEqual(flows, c.flows) {
				t.Errorf("flows %q, want %q", flows, c.flows)
			}
			wantNote(t, &got, c.note)
		})
	}
}

// TestControllersThatRepeatOrChooseAreListed, and cost the flow their requests.
func TestControllersThatRepeatOrChooseAreListed(t *testing.T) {
	a := sampler("A", "/a", "")
	b := sampler("B", "/b", "")
	c := sampler("C", "/${v}", "")
	takes := regex("v(.)", prop("RegexExtractor.template", "$1$"), prop("RegexExtractor.match_number", "1"))
	for _, class := range []string{"LoopController", "IfController", "ThroughputController", "RandomController",
		"RandomOrderController", "InterleaveControl", "SwitchController", "ForeachController", "IncludeController",
		"ModuleController", "RunTime", "com.example.OwnController"} {
		got := converts(t, plan(group("G", 10, a+tag(class, "X", prop(class+".setting", "1"), b+takes)+c)),
			Options{})
		if flows := flowsOf(&got); !reflect.DeepEqual(flows, []string{"0: a $${v}"}) {
			t.Errorf("%s: flows %q, want those without it", class, flows)
		}
		if !noted(&got, "G > X: "+class+" with the 2 elements below it: ") || noted(&got, "setting") {
			t.Errorf("%s: notes %v", class, got.NotConverted)
		}
	}
}

func TestAFlowHasALimit(t *testing.T) {
	c := converts(t, plan(group("G", 1, strings.Repeat(sampler("A", "/a", ""), maxSteps+2))), Options{})
	if n := len(c.File.Flows[0].Steps); n != maxSteps {
		t.Errorf("%d steps", n)
	}
	wantNote(t, &c, "2 of its requests: a flow has at most 1000 steps")
}

func TestTexts(t *testing.T) {
	cases := []struct{ name, variables, path, request, note string }{
		{"plain", "", "/a?b=c", "/a?b=c", ""},
		{"no slash", "", "a", "/a", ""},
		{"blanks", "", "/a b/ü", "/a%20b/%C3%BC", ""},
		{"constant", userVariable("v", "x${w}") + userVariable("w", "y"), "/${v}", "/xy", ""},
		{"undefined", "", "/${v}", "/$${v}", "nothing in what was converted sets this variable"},
		{"cycle", userVariable("v", "${w}") + userVariable("w", "${v}"), "/${v}", "/$${v}", "more than ten deep"},
		{"uuid", "", "/${__UUID}/${__UUID()}", "/${uuid}/${uuid_2}", ""},
		{"one draw for a variable", userVariable("v", "${__UUID}"), "/${v}/${v}", "/${uuid}/${uuid}", ""},
		{"random", userVariable("n", "9"), "/${__Random(1,${n})}", "/${random}", ""},
		{"random with a name", "", "/${__Random(1,9,die)}/${die}", "/${die}/${die}", ""},
		{"random the wrong way", "", "/${__Random(9,1)}", "/$${__Random(9,1)}", "have no counterpart"},
		{"random text", "", "/${__RandomString(5)}", "/${text}", ""},
		{"random text of some letters", "", "/${__RandomString(5,abc)}", "/${text}", "not from these characters"},
		{"counter", "", "/${__counter(FALSE)}", "/${counter}", ""},
		{"counter of a user", "", "/${__counter(TRUE)}", "/${counter}", "counts over all users"},
		{"thread number", "", "/${__threadNum}", "/${thread}", "drawn from the users' numbers"},
		{"property", "", "/${__P(x,y\\,z)}", "/y,z", `the default "y,z" is used`},
		{"property without default", "", "/${__P(x)}/${__property(x)}", "/1/x", "have no counterpart"},
		{"property with a value as its default", userVariable("v", "${__UUID}"), "/${__P(x,${v})}",
			"/${uuid}", `the default "{uuid}" is used`},
		{"escaped reference", userVariable("v", "x"), `/\${v}/${v}`, "/$${v}/x", ""},
		{"escaped comma and backslash", userVariable("v", "x"), `/a\,b\\c\d${v}`, "/a,b%5Cc%5Cdx", ""},
		{"backslashes without a reference", "", `/a\,b\${v}`, "/a%5C,b%5C$${v}", ""},
		{"escaped brace in a call", "", `/${__P(x,\}\$)}`, "/%5C}$", `the default "\\}$" is used`},
		{"script", "", "/${__groovy(1+1)}", "/$${__groovy(1+1)}", "so replace it"},
		{"dollar before a value", "", "/$${__UUID}", "/${dollar}${uuid}", ""},
		{"unclosed", "", "/${v", "/$${v", ""},
		{"counter element", tag("CounterConfig", "C",
			prop("CounterConfig.name", "c")+prop("CounterConfig.start", "5")+prop("CounterConfig.incr", "1"), ""),
			"/${c}", "/${c}", ""},
		{"counter by two", tag("CounterConfig", "C", prop("CounterConfig.name", "c")+
			prop("CounterConfig.incr", "2"), ""), "/${c}", "/${c}",
			"CounterConfig.incr = 2: a sequence counts by one"},
		{"random element", tag("RandomVariableConfig", "C",
			prop("variableName", "c")+prop("minimumValue", "1")+prop("maximumValue", "6"), ""), "/${c}", "/${c}", ""},
		{"server in the path", userVariable("base", "http://127.0.0.1/x"), "${base}/y", "/x/y", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, plan(jar(), group("G", 10, c.variables+sampler("A", c.path, ""))), Options{})
			if request := got.File.Flows[0].Steps[0].Request; request != "GET "+c.request {
				t.Errorf("request %q, want %q", request, "GET "+c.request)
			}
			wantNote(t, &got, c.note)
		})
	}
}

// TestConstantsReferToTheirGroup: a constant stands for what the variables in it are in each group.
func TestConstantsReferToTheirGroup(t *testing.T) {
	takes := regex("v(.)", prop("RegexExtractor.template", "$1$"), prop("RegexExtractor.match_number", "1"))
	below := sampler("A", "/a", takes) + sampler("B", "/${path}", "")
	got := converts(t, plan(userVariable("path", "b-${v}"), group("G", 1, below), group("H", 2, below)),
		Options{})
	want := []string{"1: a b-${v}", "2: a b-${v_2}"}
	if flows := flowsOf(&got); !reflect.DeepEqual(flows, want) {
		t.Errorf("flows %q, want %q", flows, want)
	}
}

func TestArguments(t *testing.T) {
	post := prop("HTTPSampler.method", "POST")
	noMethod := func(path string, more ...string) string {
		return strings.Replace(sampler("A", path, "", more...), prop("HTTPSampler.method", "GET"), "", 1)
	}
	cases := []struct{ name, sampler, request, body string }{
		{"query", sampler("A", "/a?x=1", "", arguments(argument("q", "a b&c", true, true),
			argument("r", "a%20b", false, true))), "GET /a?x=1&q=a+b%26c&r=a%20b", ""},
		{"flag", sampler("A", "/a", "", arguments(argument("q", "", true, false))), "GET /a?q", ""},
		{"empty", sampler("A", "/a", "", arguments(argument("q", "", true, true))), "GET /a?q=", ""},
		{"form", noMethod("/a", post, arguments(argument("q", "a b", true, true),
			argument("r", "${__UUID}", true, true))), "POST /a", "q=a+b&r=${uuid}"},
		{"raw", noMethod("/a", post, `<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>`,
			arguments(argument("", `{"a":"${x}"}`, false, true))), "POST /a", `{"a":"$${x}"}`},
		{"raw in two arguments", noMethod("/a", post, arguments(argument("", `{"a":`, false, true),
			argument("", `1}`, false, true))), "POST /a", `{"a":1}`},
		{"unnamed after a named one", noMethod("/a", post, arguments(argument("q", "1", false, true),
			argument("", "2", false, true))), "POST /a", "q=1"},
		{"no name in a query", sampler("A", "/a", "", arguments(argument("", "2", false, true))), "GET /a", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, plan(group("G", 1, c.sampler)), Options{})
			step := got.File.Flows[0].Steps[0]
			if step.Request != c.request || step.Body != c.body {
				t.Errorf("request %q body %q, want %q %q", step.Request, step.Body, c.request, c.body)
			}
		})
	}
}

// TestAServerThatIsNotKnownIsTheTarget: a server from a property or a data file is the target, but only one.
func TestAServerThatIsNotKnownIsTheTarget(t *testing.T) {
	to := func(domain string) string {
		return strings.Replace(sampler("A", "/a", ""), prop("HTTPSampler.domain", "127.0.0.1"),
			prop("HTTPSampler.domain", domain), 1)
	}
	drawn := tag("CounterConfig", "Counter", prop("CounterConfig.name", "host"), "")
	for name, c := range map[string]struct {
		plan, target, note string
		steps              int
	}{
		"property": {group("G", 1, to("${__P(hostname)}")), "",
			"server ${__P(hostname)}: not known beforehand: give it with --target", 1},
		"property in a variable": {userVariable("host", "${__P(hostname)}") +
			group("G", 1, to("${host}")+to("${host}")), "", "give it with --target", 2},
		"property with default": {group("G", 1, to("${__P(hostname,127.0.0.2)}")), "http://127.0.0.2", "", 1},
		"drawn": {group("G", 1, drawn+to("${host}")), "",
			"server ${host}: not known beforehand: give it with --target", 1},
		"two of them": {group("G", 1, to("${__P(a)}")+to("${__P(b)}")), "",
			"${__P(b)}, is not known beforehand, and is another than ${__P(a)}", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := converts(t, plan(c.plan), Options{})
			if got.File.Target != c.target || len(got.File.Flows[0].Steps) != c.steps || !noted(&got, c.note) {
				t.Errorf("target %q, %d steps, notes %v; want %q, %d, %q", got.File.Target, len(got.File.Flows[0].Steps),
					got.NotConverted, c.target, c.steps, c.note)
			}
		})
	}
}

func TestTimersPauseBeforeTheirSampler(t *testing.T) {
	wait := func(ms string) string { return tag("ConstantTimer", "Wait", prop("ConstantTimer.delay", ms), "") }
	below := wait("10") + sampler("A", "/a", wait("1")) + sampler("B", "/b", wait("200")) +
		sampler("C", "/c", "")
	got := converts(t, plan(group("G", 1, below)), Options{})
	var thinks []time.Duration
	for _, s := range got.File.Flows[0].Steps {
		thinks = append(thinks, time.Duration(s.Think))
	}
	// Before B 210 ms, before C 10 ms, and before A of the next round 11 ms.
	want := []time.Duration{210 * time.Millisecond, 10 * time.Millisecond, 11 * time.Millisecond}
	if !reflect.DeepEqual(thinks, want) {
		t.Errorf("pauses %v, want %v", thinks, want)
	}
}
