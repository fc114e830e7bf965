package gateway

import (
	"encoding/json"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestTextsAreWrittenAsJSON compares every byte, and some longer texts, with encoding/json.
func TestTextsAreWrittenAsJSON(t *testing.T) {
	texts := []string{"", "Ada", "Ærø", "\u2028", `"quoted" \`, "a\tb"}
	for c := range 256 {
		texts = append(texts, "x"+string([]byte{byte(c)})+"y")
	}
	for _, text := range texts {
		want, err := json.Marshal(text)
		testset.Must(t, err)
		if got := appendText([]byte("before "), text); string(got) != "before "+string(want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestTargetsOfTheUsualForm: route recognizes /KIND and /KIND/ID, and leaves all other targets to net/http.
func TestTargetsOfTheUsualForm(t *testing.T) {
	const id = "5e0dbf4c-8f3c-4d8e-9a55-0123456789ab"
	for target, want := range map[string]string{
		"/persons": "persons ", "/profiles/" + id: "profiles " + id, "/addresses/abc": "addresses abc",
		"/": "", "/health": "", "/pets/" + id: "", "/persons/": "", "/persons?a=b": "", "/persons/" + id + "?a": "",
		"/persons/" + id + "/": "", "/persons/..": "", "/persons/%61": "", "/PERSONS": "", "//persons": "",
		"/persons/ABC": "",
	} {
		kind, named, usual := route([]byte(target))
		if got := string(kind) + " " + named; usual != (want != "") || usual && got != want {
			t.Errorf("%s: %q, %t, want %q", target, got, usual, want)
		}
	}
}
