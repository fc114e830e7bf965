package engine

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLoad checks that Load returns the ID of the image that the daemon has loaded, or its error.
func TestLoad(t *testing.T) {
	for answer, want := range map[string]string{
		`{"stream":"Loaded image: host:5000/shop/web:2\n"}`: "sha256:of host:5000/shop/web:2",
		`{"stream":"Loaded image ID: sha256:abc\n"}`:        "sha256:of sha256:abc",
		`{"stream":"reading"}{"error":"no space left"}`:     "load an image: no space left",
		`{"stream":"The image was renamed to none:none\n"}`: "load an image: the daemon does not say what it " +
			"has loaded",
		`{"stream":"Loaded image: one:1\n"}{"stream":"more`:  "load an image: unexpected EOF",
		`{"stream":"Loaded image: gone:1\n"}{"stream":"\n"}`: "load an image: gone:1 is gone again",
	} {
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			name, asked := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/json"), "/v1.41/images/")
			switch {
			case name == "gone:1":
				w.WriteHeader(http.StatusNotFound)
			case asked && name != "load":
				_, _ = io.WriteString(w, `{"Id":"sha256:of `+name+`"}`) // the client reads it
			default:
				_, _ = io.WriteString(w, answer)
			}
		})
		got, err := c.Load(t.Context(), strings.NewReader("an archive"))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s is loaded as %q, want %q", answer, got, want)
		}
	}
}
