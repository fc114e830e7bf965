package convert

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/internal/testset"
)

// These tests check that nothing of the input is dropped silently: they change one thing of a fixture
// after the other, and each change must change the conversion, in the scenario or in the notes.

// equivalent returns the reason why a change of a setting of the fixtures may leave the conversion as it
// is, or "" if it may not.
func equivalent(name string) string {
	switch name {
	case "Argument.metadata":
		return "the sign between name and value, which is always ="
	case "HTTPSampler.auto_redirects":
		return "the samplers follow redirects already"
	case "LoopController.continue_forever":
		return "beside a number of loops, the number counts"
	case "HTTPSampler.contentEncoding":
		return "empty means UTF-8"
	case "HTTPArgument.use_equals", "HTTPArgument.always_encode":
		return "no value is empty, none needs encoding (see TestArguments)"
	case "HTTPSampler.embedded_url_re":
		return "nothing embedded is loaded"
	case "Assertion.assume_success":
		return "the assertion names the status"
	case "ISREGEX":
		return "the text is no pattern"
	case "ActionProcessor.target":
		return "not in force beside the other settings"
	}
	if neutralSettings()[name] == anyValue {
		return "changes nothing about the load"
	}
	return ""
}

// write writes a node as XML.
func (n *node) write(out *strings.Builder) {
	out.WriteString("<" + n.tag)
	for name, value := range n.attrs {
		fmt.Fprintf(out, " %s=%q", name, escapeXML(value))
	}
	out.WriteString(">")
	if len(n.kids) == 0 {
		out.WriteString(escapeXML(n.text.String()))
	}
	for _, kid := range n.kids {
		kid.write(out)
	}
	out.WriteString("</" + n.tag + ">")
}

func escapeXML(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}

// coveredByNote reports whether a note about an element, or about one above it, covers its whole content.
func coveredByNote(n *node) bool {
	return n.attrs["enabled"] == "false" ||
		slices.Contains([]string{"JSR223PostProcessor", "ResultCollector", "IfController",
			"ThroughputController"}, n.tag)
}

// planMutations calls try for every change of a test plan; what describes the change.
func planMutations(n *node, try func(what string)) {
	for i := 0; i < len(n.kids); i++ {
		kid := n.kids[i]
		_, isElement := kid.attrs["testname"]
		if n.tag == "hashTree" && isElement && i+1 < len(n.kids) {
			kids := n.kids
			n.kids = slices.Delete(slices.Clone(kids), i, i+2)
			try("without element " + kid.attrs["testname"])
			n.kids = kids
		}
		if coveredByNote(kid) {
			i++ // and what is below it
			continue
		}
		name := kid.attrs["name"]
		if name == "" && len(kid.kids) > 0 && kid.kids[0].tag == "name" {
			name = kid.kids[0].text.String()
		}
		changed := kid
		if len(kid.kids) > 1 && kid.kids[1].tag == "value" {
			changed = kid.kids[1]
		}
		if len(changed.kids) == 0 && strings.HasSuffix(strings.ToLower(kid.tag), "prop") &&
			kid.tag != "collectionProp" && equivalent(name) == "" && !hasNoEffect(n, name) {
			before := changed.text.String()
			changed.text.Reset()
			changed.text.WriteString(otherText(before))
			try(name + " = " + before + " becomes " + otherText(before))
			changed.text.Reset()
			changed.text.WriteString(before)
		}
		if changed == kid {
			planMutations(kid, try)
		}
	}
}

// hasNoEffect reports whether a setting has no effect in the fixture: the path of the request defaults, which
// every sampler overrides, and the raw body of a sampler whose arguments have no names, which makes it raw
// anyway.
func hasNoEffect(of *node, name string) bool {
	return of.tag == "ConfigTestElement" && name == "HTTPSampler.path" ||
		of.attrs["testname"] == "Order" && name == "HTTPSampler.postBodyRaw"
}

// otherText returns another value of the same kind.
func otherText(text string) string {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(n+7, 'f', -1, 64)
	}
	switch text {
	case "true":
		return "false"
	case "false":
		return "true"
	}
	return text + "x"
}

func TestNothingOfTestPlansIsDropped(t *testing.T) {
	for _, fixture := range []string{"shop.jmx", "mix.jmx"} {
		top, err := readNodes(read(t, fixture))
		testset.Must(t, err)
		original := rendered(t, fixture, read(t, fixture))
		tried := 0
		planMutations(top, func(what string) {
			tried++
			var text strings.Builder
			top.write(&text)
			if rendered(t, fixture, []byte(text.String())) == original {
				t.Errorf("%s: %s: nothing changes", fixture, what)
			}
		})
		if tried < 25 {
			t.Errorf("%s: only %d changes tried", fixture, tried)
		}
	}
}

// mutate calls try for every change of a decoded document: each key removed, each text and number
// changed. path is the position of at in the document.
func mutate(at any, path string, try func(path string)) {
	switch v := at.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			old := v[key]
			delete(v, key)
			try(path + "." + key + " removed")
			v[key] = old
			if other, isLeaf := otherLeaf(old); isLeaf {
				v[key] = other
				try(path + "." + key + " changed")
				v[key] = old
			}
			mutate(old, path+"."+key, try)
		}
	case []any:
		for i, old := range v {
			if other, isLeaf := otherLeaf(old); isLeaf {
				v[i] = other
				try(fmt.Sprintf("%s.%d changed", path, i))
				v[i] = old
			}
			mutate(old, fmt.Sprintf("%s.%d", path, i), try)
		}
	}
}

func otherLeaf(old any) (any, bool) {
	switch v := old.(type) {
	case string:
		return v + "x", true
	case float64:
		return v + 1, true
	case int:
		return v + 1, true
	case bool:
		return !v, true
	}
	return nil, false
}

func asJSON(t *testing.T, document any) []byte {
	t.Helper()
	text, err := json.Marshal(document)
	testset.Must(t, err)
	return text
}

func TestNothingOfRecordingsIsDropped(t *testing.T) {
	var document map[string]any
	testset.Must(t, json.Unmarshal(read(t, "shop.har"), &document))
	original := rendered(t, "shop.har", read(t, "shop.har"))
	entries := document["log"].(map[string]any)["entries"].([]any)
	tried := 0
	for i, e := range entries {
		request := e.(map[string]any)["request"]
		if i == 10 || i == 11 || i == 12 {
			request = map[string]any{} // not sent at all: one note covers all of them
		}
		mutate(request, "entry "+strconv.Itoa(i+1), func(path string) {
			if mayHaveNoEffect(path, i) {
				return
			}
			tried++
			if rendered(t, "shop.har", asJSON(t, document)) == original {
				t.Errorf("%s: nothing changes", path)
			}
		})
	}
	if tried < 50 {
		t.Errorf("only %d changes tried", tried)
	}
}

// mayHaveNoEffect reports whether a change of a recording may have no effect: it describes the recorder, a
// note covers it for the whole recording, or it is the value of a header that is left out (only its name is
// noted).
func mayHaveNoEffect(path string, entry int) bool {
	for _, part := range []string{".httpVersion", ".headersSize", ".queryString", ".cookies",
		".bodySize removed", ".mimeType"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	if entry == 3 { // to another host: counted in its note
		return !strings.Contains(path, "url removed")
	}
	isOther := entry == 4 || entry >= 7 && entry <= 9 // one note covers each
	if isOther && !strings.Contains(path, ".url") && !strings.Contains(path, ".method") {
		return true
	}
	if !strings.Contains(path, ".headers") {
		return false
	}
	isKept := strings.Contains(path, ".headers.6.") ||
		entry == 5 && (strings.Contains(path, ".headers.7.") || strings.Contains(path, ".headers.8."))
	return !isKept
}

func TestNothingOfDescriptionsIsDropped(t *testing.T) {
	var document map[string]any
	testset.Must(t, yaml.Unmarshal(read(t, "shop.openapi.yaml"), &document))
	original := rendered(t, "shop.openapi.json", asJSON(t, document))
	tried := 0
	mutate(document, "", func(path string) {
		if !isPartOfDescription(path) {
			return
		}
		tried++
		if rendered(t, "shop.openapi.json", asJSON(t, document)) == original {
			t.Errorf("%s: nothing changes", path)
		}
	})
	if tried < 40 {
		t.Errorf("only %d changes tried", tried)
	}
}

// isPartOfDescription selects the parts that count by themselves: operations, parameters, bodies, fields
// of bodies, servers, security. Types and formats only shape them.
func isPartOfDescription(path string) bool {
	for _, part := range []string{
		".responses", ".Product.", ".shipped.", ".stock.", // not sent
		"/pictures.post.requestBody", // a note lists the whole operation
		".properties.id",             // read only
		"/customers/{customer}.get.parameters", "/products/{sku}.get.parameters", "lines.get.parameters",
		"/orders/{orderId}.parameters", // the value comes from an answer
	} {
		if strings.Contains(path, part) {
			return false
		}
	}
	where, isRemoval := strings.CutSuffix(path, " removed")
	if !isRemoval {
		return strings.Contains(path, ".parameters.") && strings.HasSuffix(path, ".name changed")
	}
	last := where[strings.LastIndexByte(where, '.')+1:]
	isField := strings.HasSuffix(strings.TrimSuffix(where, last), ".properties.")
	things := []string{"get", "post", "delete", "head", "options", "requestBody", "callbacks", "webhooks",
		"servers", "parameters"}
	return isField || strings.HasPrefix(last, "/") || slices.Contains(things, last) || where == ".security"
}
