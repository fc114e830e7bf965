package assembly_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestFuzzerFindsFaults runs the fuzzer against servers that break a document.
// Long because it is a table.
func TestFuzzerFindsFaults(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("testdata", "one-number.yaml"))
	testset.Must(t, err)
	right := func(number string) (int, string) {
		if len(number) == 1 && number >= "1" && number <= "9" {
			return http.StatusOK, `{"number":` + number + `}`
		}
		return http.StatusBadRequest, `{"problem":"no"}`
	}
	cases := []struct {
		name, complaint string // no complaint: it keeps to the document
		answer          func(number string) (int, string)
	}{
		{"right", "", right},
		{"fails", "the shop failed", func(n string) (int, string) {
			if n == "7" {
				return http.StatusInternalServerError, `{"problem":"no"}`
			}
			return right(n)
		}},
		{"takes everything", "it was not refused", func(string) (int, string) {
			return http.StatusOK,
				`{"number":1}`
		}},
		{"refuses what is right", "it was refused", func(string) (int, string) {
			return http.StatusBadRequest,
				`{"problem":"no"}`
		}},
		{"status not listed", "status is not supported", func(n string) (int, string) {
			if status, body := right(n); status != http.StatusOK {
				return http.StatusConflict, body
			}
			return right(n)
		}},
		{"body of another shape", "doesn't match schema", func(n string) (int, string) {
			status, body := right(n)
			return status, strings.ReplaceAll(body, `"number":9`, `"number":"9"`)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, body := c.answer(strings.TrimPrefix(r.URL.Path, "/numbers/"))
				if r.URL.RawQuery != "" {
					status, body = http.StatusBadRequest, `{"problem":"no"}`
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			f := newFuzzer(t, server.URL, document, 1)
			var found error
			for n := 0; n < 500 && found == nil; n++ {
				found = f.step()
			}
			if c.complaint == "" && found != nil || c.complaint != "" &&
				!strings.Contains(fmt.Sprint(found), c.complaint) {
				t.Errorf("found %v, want %q", found, c.complaint)
			}
		})
	}
}
