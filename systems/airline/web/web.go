// Package web is the airline over HTTP: the operations of api/openapi.yaml, the requests between units below
// /internal, and the client for these. It checks the shape of requests and their sessions; package service
// carries them out.
//
// Entry points: NewHandler, Serve; NewClient.
package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/unit"
)

// Internal begins the paths of requests between units.
const Internal = "/internal/"

const (
	// maxBody is the longest body, in bytes.
	maxBody = 16 << 10
	// answerTime limits the time from the end of a request to the end of its answer.
	answerTime = 20 * time.Second
	// drain limits the time that requests in flight have to finish when a unit ends.
	drain = 8 * time.Second
)

// Parts are the components of a unit. Those that it does not have are nil.
type Parts struct {
	Auth      *service.Auth
	Customers *service.Customers
	Flights   *service.Flights
	Bookings  *service.Bookings
	// Sessions finds the session of a request.
	Sessions service.Sessions
	// ServesUnits is true if other units ask this one, below /internal. Only the list of all bookings is there
	// in any case, for the audit.
	ServesUnits bool
	// LogError logs failures of the airline itself.
	LogError func(error)
}

// call is one request whose shape and session have been checked.
type call struct {
	context.Context
	w     http.ResponseWriter
	login string   // the customer of the session; empty if the route needs none
	token string   // of that session
	names []string // the segments of the path that stand for *
	query string   // as it came
	body  []byte
}

// route is one operation of one unit.
type route struct {
	pattern string
	method  string
	path    []string // segments; * is any that is not empty
	session bool
	answer  func(c *call) error
}

type handler struct {
	Parts
	problems front.Problems
	routes   []route
}

// NewHandler returns the handler of the operations of some parts.
func NewHandler(parts Parts) http.Handler {
	h := &handler{Parts: parts, problems: front.Problems{Types: typePrefix, Of: airline.ProblemOf,
		Meanings: meanings(), LogError: parts.LogError}}
	h.add("GET /health", false, health)
	if parts.Auth != nil {
		h.add("POST /login", false, h.login)
		h.add("POST /logout", true, h.logout)
		if parts.ServesUnits {
			h.add("GET /internal/sessions/*", false, h.session)
		}
	}
	if parts.Customers != nil {
		h.add("GET /customers/*", true, h.customer)
		h.add("PUT /customers/*", true, h.changeCustomer)
		if parts.ServesUnits {
			h.add("POST /internal/check", false, h.check)
		}
	}
	if parts.Flights != nil {
		h.add("GET /flights", true, h.flights)
		if parts.ServesUnits {
			h.add("GET /internal/flights/*", false, h.flight)
		}
	}
	if parts.Bookings != nil {
		h.add("POST /bookings", true, h.book)
		h.add("DELETE /bookings/*", true, h.cancel)
		h.add("GET /customers/*/bookings", true, h.bookings)
		h.add("GET /internal/bookings", false, h.allBookings)
	}
	return h
}

// add adds a route for an operation, METHOD /path. session is true if it needs one.
func (h *handler) add(operation string, session bool, answer func(c *call) error) {
	method, path, _ := strings.Cut(operation, " ")
	h.routes = append(h.routes, route{operation, method, strings.Split(path[1:], "/"), session, answer})
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h.serve(w, r)
	switch {
	case errors.Is(err, errTooSlow): // the rest of the body may still come
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestTimeout)
	case err != nil:
		front.Write(w, h.problems.Refusal(cmp.Or(r.Pattern, r.Method), err))
	}
}

// serve makes the checks that all operations have, in their order.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	found, names, err := h.find(w, r)
	if err != nil {
		return err
	}
	r.Pattern = found.pattern // for the log and the spans
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	c := &call{Context: r.Context(), w: w, names: names, query: r.URL.RawQuery, body: body}
	if found.session {
		if err := h.authenticate(c, r.Header.Get("Authorization")); err != nil {
			return err
		}
	}
	return found.answer(c)
}

// find returns the route of a request. An http.ServeMux would redirect paths that are not clean, and take
// HEAD for GET.
func (h *handler) find(w http.ResponseWriter, r *http.Request) (found route, names []string, err error) {
	segments := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i := range segments {
		if segments[i], err = url.PathUnescape(segments[i]); err != nil {
			return found, nil, rpc.Problemf(airline.UnknownPath, "the path is not encoded as URLs are")
		}
	}
	var allowed []string
	for _, candidate := range h.routes {
		names, matches := match(candidate.path, segments)
		if matches && candidate.method == r.Method {
			return candidate, names, nil
		}
		if matches {
			allowed = append(allowed, candidate.method)
		}
	}
	if allowed == nil {
		return found, nil, rpc.Problemf(airline.UnknownPath, "nothing is at this path")
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return found, nil, rpc.Problemf(airline.WrongMethod, "use %s", strings.Join(allowed, " or "))
}

// match compares a path with a pattern; names are the segments at its stars.
func match(pattern, segments []string) (names []string, matches bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	for i, want := range pattern {
		switch {
		case want == "*" && segments[i] != "":
			names = append(names, segments[i])
		case want != segments[i]:
			return nil, false
		}
	}
	return names, true
}

// errTooSlow means that a request did not come within its time.
var errTooSlow = errors.New("the request came too slowly")

// readBody reads the whole body, also one that is not used: its size is checked before the
// session.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := rpc.Problemf(airline.TooLarge, "the body has more than %d bytes", maxBody)
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errTooSlow
	case err != nil:
		return nil, rpc.Problemf(airline.BadRequest, "the body is incomplete")
	}
	return body, nil
}

// authenticate finds the session of a request by its token.
func (h *handler) authenticate(c *call, authorization string) error {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !bearer || token == "" {
		return rpc.Problemf(airline.NoSession, "send the header Authorization: Bearer TOKEN")
	}
	session, err := h.Sessions.Session(c, token)
	c.login = session.Login
	c.token = token
	return err
}

// reply sends a value as JSON, unless there is an error, which it returns.
func (c *call) reply(status int, value any, err error) error {
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	front.Write(c.w, front.JSON(status, text))
	return nil
}

// done answers that something was done, unless there is an error, which it returns.
func (c *call) done(err error) error {
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// typePrefix is the prefix of the types of problems.
const typePrefix = "/problems/"

// meanings returns the status and title in HTTP of each kind of problem.
func meanings() map[rpc.Kind]front.Meaning {
	return map[rpc.Kind]front.Meaning{
		airline.BadRequest:       {Status: http.StatusBadRequest, Title: "The request is not valid"},
		airline.WrongCredentials: {Status: http.StatusUnauthorized, Title: "Login or password is wrong"},
		airline.NoSession: {Status: http.StatusUnauthorized,
			Title: "There is no such session, or it has expired"},
		airline.NotYours:       {Status: http.StatusForbidden, Title: "This belongs to another customer"},
		airline.UnknownPath:    {Status: http.StatusNotFound, Title: "There is nothing here"},
		airline.UnknownAirport: {Status: http.StatusNotFound, Title: "No such airport"},
		airline.UnknownFlight:  {Status: http.StatusNotFound, Title: "No such flight"},
		airline.UnknownBooking: {Status: http.StatusNotFound, Title: "No such booking"},
		airline.WrongMethod:    {Status: http.StatusMethodNotAllowed, Title: "This method is not allowed here"},
		airline.AlreadyBooked:  {Status: http.StatusConflict, Title: "This flight is booked already"},
		airline.TooLarge:       {Status: http.StatusRequestEntityTooLarge, Title: "The request is too large"},
		rpc.Unavailable: {Status: http.StatusServiceUnavailable,
			Title: "A part of the airline does not answer; try again"},
		rpc.Internal: {Status: http.StatusInternalServerError, Title: "This could not be carried out"},
	}
}

// Serve serves on the listener until ctx ends, then takes no new requests, finishes
// those under way, and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := unit.NewFront(handler, answerTime)
	server.ReadHeaderTimeout = server.ReadTimeout // as in the other languages
	return unit.ServeHTTP(ctx, listener, server, drain)
}
