package api

import (
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/systems/shop"
)

// problemDocument is a failure as clients see it (RFC 9457).
type problemDocument struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Kinds that only this interface has: they never cross between components.
const (
	kindNoRoute    shop.Kind = "no-such-resource"
	kindMethod     shop.Kind = "method-not-allowed"
	kindTooLarge   shop.Kind = "body-too-large"
	kindMediaType  shop.Kind = "unsupported-media-type"
	kindSlowClient shop.Kind = "request-timeout"
)

// meaning is how a kind shows over HTTP.
type meaning struct {
	status int
	title  string
}

// meanings lists all kinds.
func meaningOf(kind shop.Kind) meaning {
	switch kind {
	case shop.InvalidArgument:
		return meaning{http.StatusBadRequest, "The request breaks a rule of this interface"}
	case shop.NotFound:
		return meaning{http.StatusNotFound, "There is no such order or shipment"}
	case shop.UnknownProduct:
		return meaning{http.StatusNotFound, "There is no such product"}
	case shop.UnknownCustomer:
		return meaning{http.StatusNotFound, "There is no such customer"}
	case shop.OutOfStock:
		return meaning{http.StatusConflict, "The stock does not cover the order"}
	case shop.Declined:
		return meaning{http.StatusPaymentRequired, "The balance does not cover the order"}
	case shop.Conflict:
		return meaning{http.StatusConflict, "The state of the order does not allow this"}
	case shop.KeyReused:
		return meaning{http.StatusUnprocessableEntity, "The idempotency key belongs to another request"}
	case shop.Unavailable, shop.Cancelled:
		return meaning{http.StatusServiceUnavailable, "A part of the shop does not answer"}
	case shop.DeadlineExceeded:
		return meaning{http.StatusGatewayTimeout, "The time for this request was up"}
	case kindNoRoute:
		return meaning{http.StatusNotFound, "There is no such resource"}
	case kindMethod:
		return meaning{http.StatusMethodNotAllowed, "The resource does not take this method"}
	case kindTooLarge:
		return meaning{http.StatusRequestEntityTooLarge, "The body is too large"}
	case kindMediaType:
		return meaning{http.StatusUnsupportedMediaType, "The body is not JSON"}
	case kindSlowClient:
		return meaning{http.StatusRequestTimeout, "The request came too slowly"}
	}
	return meaning{http.StatusInternalServerError, "The shop failed"}
}

// TypeOf returns the type of a problem as clients see it.
func TypeOf(kind shop.Kind) string { return "urn:cleave:shop:" + string(kind) }

// writeProblem answers with a failure. Its cause stays inside.
func writeProblem(w http.ResponseWriter, err error) {
	problem := shop.ProblemOf(err)
	means := meaningOf(problem.Kind)
	if means.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, means.status, "application/problem+json", problemDocument{
		Type: TypeOf(problem.Kind), Title: means.title, Status: means.status, Detail: problem.Detail,
	})
}

// writeJSON sends a body in one piece.
func writeJSON(w http.ResponseWriter, status int, mediaType string, body any) {
	text, err := json.Marshal(body)
	if err != nil { // no body of this package can fail
		http.Error(w, "cannot encode the answer", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a reader who has left is no failure
}

// withProblems answers what no route takes with a problem document too.
func withProblems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean(r.URL.Path) { // the mux would redirect
			writeProblem(w, shop.Problemf(kindNoRoute, "nothing is at this path"))
			return
		}
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		verdict := &silent{header: http.Header{}}
		handler.ServeHTTP(verdict, r)
		if allowed := verdict.header.Get("Allow"); allowed != "" {
			w.Header().Set("Allow", allowed)
			writeProblem(w, shop.Problemf(kindMethod, "%s takes %s", r.URL.Path,
				strings.ReplaceAll(allowed, ",", " or")))
			return
		}
		writeProblem(w, shop.Problemf(kindNoRoute, "nothing is at this path"))
	})
}

// silent swallows an answer but its header.
type silent struct{ header http.Header }

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
func (s *silent) WriteHeader(int)             {}
