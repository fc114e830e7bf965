package convert

import "strings"

// sweep lists every element and every setting that the conversion did not look
// at, so that what nobody thought of is not dropped silently.
func (p *testPlan) sweep(e *element) {
	for _, child := range e.children {
		switch {
		case child.told:
		case !child.enabled:
			p.skip(child, "disabled")
		case !child.reached:
			p.skip(child, whyNot(child))
		default:
			for _, setting := range child.props {
				p.sweepSetting(child, setting)
			}
			p.sweep(child)
		}
	}
}

func (p *testPlan) sweepSetting(e *element, setting *property) {
	setting.eachLeaf(func(leaf *property) {
		value := strings.TrimSpace(leaf.text)
		if leaf.used || value == "" || value == "false" || neutral(leaf.name, value) {
			return
		}
		p.note(e.where(), leaf.name+" = "+value, whyNotSetting(leaf.name))
	})
}

// neutral settings change nothing about the load: comments, and what only says
// how JMeter does it.
func neutral(name, value string) bool {
	switch name {
	case "TestPlan.comments", "TestElement.comments", "Argument.desc", "Assertion.custom_message",
		"HTTPSampler.implementation", "HTTPSampler.concurrentPool", "HTTPSampler.concurrentDwn",
		"TestPlan.tearDown_on_shutdown", "ThreadGroup.start_time", "ThreadGroup.end_time",
		"CookieManager.policy", "CookieManager.implementation", "IfController.useExpression":
		return true
	case "Argument.metadata":
		return value == "="
	case "CounterConfig.incr", "Steps":
		return value == "1"
	case "CounterConfig.end":
		return value == "9223372036854775807" // none
	case "shareMode":
		return value == "shareMode.all"
	case "JSONPostProcessor.defaultValues":
		return strings.Trim(value, ";") == ""
	case "HTTPSampler.contentEncoding":
		return strings.EqualFold(value, "utf-8")
	case "HTTPArgument.content_type":
		return value == "text/plain"
	}
	return false
}

// isListener reports whether an element shows or writes results.
func isListener(e *element) bool {
	return e.class == "ResultCollector" || e.class == "Summariser" || strings.HasSuffix(e.class, "Listener") ||
		strings.HasSuffix(e.gui, "Visualizer")
}

// isBesideRequests reports whether an element sends nothing, and holds nothing that does.
func isBesideRequests(e *element) bool {
	for _, ending := range []string{"Timer", "Assertion", "Manager", "Extractor", "Processor", "DataSet",
		"ConfigTestElement", "Config", "Arguments"} {
		if strings.HasSuffix(e.class, ending) {
			return true
		}
	}
	return isListener(e)
}

// whyNot is why an element is not in the scenario.
func whyNot(e *element) string {
	switch {
	case isListener(e):
		return "the engine writes its own results; the command line chooses their form"
	case strings.Contains(e.class, "ThreadGroup"):
		return "this kind of thread group has no counterpart; its requests are not in the scenario"
	case strings.Contains(e.class, "JSR223") || strings.Contains(e.class, "BeanShell") ||
		strings.Contains(e.class, "BSF"):
		return "scripts are not run"
	case strings.HasSuffix(e.class, "Assertion"):
		return "answers are not checked for this"
	case strings.HasSuffix(e.class, "Timer"):
		return "this timer has no counterpart, or no converted request is in its scope"
	case otherProtocol(e.class) != "":
		return "speaks " + otherProtocol(e.class) + "; a scenario speaks HTTP and gRPC"
	case strings.HasSuffix(e.class, "Sampler") || strings.HasSuffix(e.class, "SamplerProxy"):
		return "not a request over HTTP, or not reached"
	}
	return "has no counterpart, or no converted request is in its scope"
}

// otherProtocol returns what a sampler speaks that is not of HTTP; "" where that is not known.
func otherProtocol(class string) string {
	return map[string]string{"FTPSampler": "FTP", "LDAPSampler": "LDAP", "LDAPExtSampler": "LDAP",
		"JDBCSampler": "JDBC", "JMSSampler": "JMS", "PublisherSampler": "JMS", "SubscriberSampler": "JMS",
		"TCPSampler": "TCP", "SmtpSampler": "mail", "MailReaderSampler": "mail"}[class]
}

// whyNotSetting is why a setting is not in the scenario.
func whyNotSetting(name string) string {
	switch {
	case strings.HasSuffix(name, "_timeout"):
		return "the time limit of an operation is given on the command line"
	case strings.Contains(name, "proxy"):
		return "load goes straight to its target"
	}
	switch name {
	case "TestPlan.serialize_threadgroups":
		return "flows are mixed by their weights"
	case "ThreadGroup.delayedStart":
		return "connections are opened when they are needed"
	case "Steps":
		return "users come one by one"
	case "Iterations":
		return "a load ends after a time"
	case "CounterConfig.incr", "CounterConfig.end", "CounterConfig.per_user", "CounterConfig.format":
		return "a sequence counts by one over all users, without an end, in plain numbers"
	case "outputFormat", "randomSeed":
		return "the number is a plain one, and the scenario has a seed of its own"
	case "stopThread", "shareMode":
		return "all flows share the rows, which begin again at their end"
	case "RegexExtractor.default", "RegexExtractor.default_empty_value", "JSONPostProcessor.defaultValues":
		return "an answer without the value fails its step"
	case "JSONPostProcessor.compute_concat":
		return "one value is taken"
	case "HTTPSampler.image_parser", "HTTPSampler.embedded_url_re":
		return "nothing is loaded that no step names"
	}
	return "this setting has no counterpart"
}
