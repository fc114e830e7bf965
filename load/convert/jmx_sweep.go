package convert

import (
	"cmp"
	"slices"
	"strings"
)

// sweep lists every element and every setting that the conversion did not look at, so that unknown ones
// are not dropped silently.
func (p *testPlan) sweep(e *element) {
	for _, child := range e.children {
		switch {
		case child.skipped:
		case !child.enabled:
			p.skip(child, "disabled")
		case !child.reached:
			p.skip(child, whyNot(child))
		default:
			child.eachLeaf(func(setting *property) { p.sweepSetting(child, setting) })
			p.sweep(child)
		}
	}
}

// sweepSetting lists a setting that would change the load.
func (p *testPlan) sweepSetting(e *element, setting *property) {
	value := strings.TrimSpace(setting.value)
	neutral := neutralSettings()[setting.name]
	isNeutral := neutral == anyValue || strings.EqualFold(neutral, value)
	isEmpty := strings.Trim(value, ";") == "" // extractors separate their default values by semicolons
	if isNeutral || isEmpty || setting.used || value == "false" {
		return
	}
	p.note(e.where(), setting.name+" = "+value, whyNotSetting(setting.name))
}

// anyValue stands for every value of a setting that never changes the load.
const anyValue = "*"

// neutralSettings returns the values at which settings do not change the load: comments, and settings of
// JMeter's own implementation.
func neutralSettings() map[string]string {
	return map[string]string{
		"TestPlan.comments": anyValue, "TestElement.comments": anyValue, "Argument.desc": anyValue,
		"Assertion.custom_message": anyValue, "HTTPSampler.implementation": anyValue,
		"HTTPSampler.concurrentPool": anyValue, "HTTPSampler.concurrentDwn": anyValue,
		"TestPlan.tearDown_on_shutdown": anyValue, "ThreadGroup.start_time": anyValue,
		"ThreadGroup.end_time": anyValue, "CookieManager.policy": anyValue,
		"CookieManager.implementation": anyValue, "Argument.metadata": "=", "CounterConfig.incr": "1",
		"CounterConfig.end": "9223372036854775807", "Steps": "1", "shareMode": "shareMode.all",
		"HTTPSampler.contentEncoding": "utf-8", "HTTPArgument.content_type": "text/plain",
	}
}

// isListener reports whether an element shows or writes results.
func isListener(e *element) bool {
	return e.class == "ResultCollector" || e.class == "Summariser" || strings.HasSuffix(e.class, "Listener") ||
		strings.HasSuffix(e.gui, "Visualizer")
}

// sendsNothing reports whether an element sends nothing, and contains nothing that does.
func sendsNothing(e *element) bool {
	endings := []string{"Timer", "Assertion", "Manager", "Extractor", "Processor", "DataSet",
		"ConfigTestElement", "Config", "Arguments"}
	return isListener(e) ||
		slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(e.class, ending) })
}

// whyNot returns the reason why an element is not in the scenario.
func whyNot(e *element) string {
	if isListener(e) {
		return "the engine writes its own results; the command line chooses their form"
	}
	const script = "scripts are not run"
	for _, kind := range [][2]string{
		{"ThreadGroup", "this kind of thread group has no counterpart; its requests are not in the scenario"},
		{"JSR223", script}, {"BeanShell", script}, {"BSF", script},
		{"Assertion", "answers are not checked for this"},
		{"Timer", "this timer has no counterpart, or no converted request is in its scope"},
		{"Sampler", "not a request over HTTP, or not reached; a scenario speaks HTTP and gRPC"},
	} {
		if strings.Contains(e.class, kind[0]) {
			return kind[1]
		}
	}
	return "has no counterpart, or no converted request is in its scope"
}

// whyNotSetting returns the reason why a setting is not in the scenario.
func whyNotSetting(name string) string {
	switch {
	case strings.HasSuffix(name, "_timeout"):
		return "the time limit of an operation is given on the command line"
	case strings.Contains(name, "proxy"):
		return "load goes straight to its target"
	case strings.HasPrefix(name, "CounterConfig."):
		return "a sequence counts by one over all users, without an end, in plain numbers"
	}
	const missing = "an answer without the value fails its step"
	return cmp.Or(map[string]string{
		"TestPlan.serialize_threadgroups": "flows are mixed by their weights",
		"Steps":                           "users come one by one",
		"Iterations":                      "a load ends after a time",
		"outputFormat":                    "the number is a plain one",
		"randomSeed":                      "the scenario has a seed of its own",
		"stopThread":                      "the rows begin again at their end",
		"shareMode":                       "all flows share the rows",
		"RegexExtractor.default":          missing, "RegexExtractor.default_empty_value": missing,
		"JSONPostProcessor.defaultValues": missing, "JSONPostProcessor.compute_concat": "one value is taken",
		"HTTPSampler.image_parser": "nothing is loaded that no step names",
	}[name], "this setting has no counterpart")
}
