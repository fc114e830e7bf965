package scenario

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// knownNames finds v (any text), p (plain) and n (a number).
func knownNames(name string) (int, kind, error) {
	switch name {
	case "v":
		return 0, anyText, nil
	case "p":
		return 1, plain, nil
	case "n":
		return 2, number, nil
	}
	return 0, anyText, errors.New("unknown")
}

func TestTemplates(t *testing.T) {
	values := []value{{text: []byte("a \"b\"\r\n/é?&=%#\x00")}, {text: []byte("p-1")},
		{text: []byte("-7"), bare: true}}
	cases := []struct {
		text string
		form form
		want string
	}{
		{"", verbatim, ""},
		{"plain", verbatim, "plain"},
		{"$ {v} $v {v}", verbatim, "$ {v} $v {v}"},
		{"<${v}>", verbatim, "<a \"b\"\r\n/é?&=%#\x00>"},
		{"${p}${n}", verbatim, "p-1-7"},
		{"$${v}", verbatim, "${v}"},
		{"$$${v}", verbatim, "$${v}"},
		{"$${$${${p}", verbatim, "${${p-1"},
		{"/x/${v}", inTarget, "/x/a%20%22b%22%0D%0A/%C3%A9?&=%%23%00"},
		{"${v}", inHeader, "a \"b\"  /é?&=%# "},
		{`{"a":"x${v}"}`, inJSONText, `{"a":"xa \"b\"\u000D\u000A/é?&=%#\u0000"}`},
	}
	for _, c := range cases {
		template, err := newTemplate(c.text, c.form, knownNames)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := string(template.appendTo(nil, values)); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestTemplatesThatAreMistakes(t *testing.T) {
	for _, text := range []string{"${", "${v", "${x}", "${}", "a${v}b${", "${ v}"} {
		if _, err := newTemplate(text, verbatim, knownNames); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestValuesInJSONBodies(t *testing.T) {
	values := []value{{text: []byte(`say "hi"`)}, {text: []byte("p-1")}, {text: []byte("-7"), bare: true}}
	cases := []struct {
		body any
		want string
	}{
		{"${v}", `"say \"hi\""`},
		{"${n}", `-7`},
		{map[string]any{"a": "${v}", "b": "${p}", "c": "${n}", "d": "no ${n}"},
			`{"a":"say \"hi\"","b":"p-1","c":-7,"d":"no -7"}`},
		{map[string]any{"${n}": 1, "${v}": 2}, `{"-7":1,"say \"hi\"":2}`},
		{map[string]any{"!": 1, "${n}": 1}, `{"!":1,"-7":1}`},
		{[]any{"${n}", "${n}", "${n}${n}", "\"${n}", "${n}\"", ",\"${n}\""},
			`[-7,-7,"-7-7","\"-7","-7\"",",\"-7\""]`},
		{[]any{"$${n}", "<&>", nil, 1.5, true}, `["${n}","<&>",null,1.5,true]`},
	}
	for _, c := range cases {
		template, err := newJSONTemplate(c.body, knownNames)
		if err != nil {
			t.Errorf("%v: %v", c.body, err)
			continue
		}
		if got := string(template.appendTo(nil, values)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%v: %s, want %s", c.body, got, c.want)
		}
	}
	if _, err := newJSONTemplate(func() {}, knownNames); err == nil {
		t.Error("no error for a function")
	}
}

func TestTargetsFromAnswers(t *testing.T) {
	for text, want := range map[string]string{
		"/orders/7?x=1":                "/orders/7?x=1",
		"orders/7":                     "/orders/7",
		"http://example.org/orders/7":  "/orders/7",
		"https://example.org":          "/",
		"http://example.org?x=http://": "/?x=http://",
		"/go?to=http://example.org/a":  "/go?to=http://example.org/a",
		"":                             "/",
		"/orders/7?x=1#items":          "/orders/7?x=1",
		"#http://example.org/a":        "/",
	} {
		if got := string(appendTarget(nil, []byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzTemplate: no value breaks what surrounds it, which is a line, a header or JSON.
func FuzzTemplate(f *testing.F) {
	f.Add("/a/${v}?b=$${c}", "x y\r\nHost: evil")
	f.Add(`${n}"${v}"`, `\"`)
	f.Add("$$${v}${", "\xff")
	f.Fuzz(func(t *testing.T, text, given string) {
		values := []value{{text: []byte(given)}, {text: []byte("p")}, {text: []byte("7"), bare: true}}
		if plain, err := newTemplate(Literal(text), verbatim, knownNames); err != nil ||
			string(plain.appendTo(nil, values)) != text {
			t.Errorf("the literal of %q is not itself", text)
		}
		target, err := newTemplate(text, inTarget, knownNames)
		if err != nil {
			return
		}
		var literals int
		for _, p := range target {
			literals += strings.Count(string(p.text), " ") + strings.Count(string(p.text), "\n") +
				strings.Count(string(p.text), "\r")
		}
		got := string(target.appendTo(nil, values))
		if strings.Count(got, " ")+strings.Count(got, "\n")+strings.Count(got, "\r") != literals {
			t.Errorf("%q with %q: the target %q breaks its line", text, given, got)
		}
		if header, _ := newTemplate("${v}", inHeader,
			knownNames); strings.ContainsFunc(string(header.appendTo(nil, values)), isControl) {
			t.Errorf("%q: a header with control characters", given)
		}
		body, err := newJSONTemplate(map[string]any{"k": text}, knownNames)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := body.appendTo(nil, values); !json.Valid(got) {
			t.Errorf("%q with %q: no JSON: %s", text, given, got)
		}
	})
}
