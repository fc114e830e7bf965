package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/service"
	"github.com/cleave-lab/cleave/systems/kit/front"
)

func health(c *call) error {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(c.w, "ok\n") // a client that has disconnected is no failure
	return nil
}

// credentials reads the body of a login.
func (c *call) credentials() (login, password string, err error) {
	fields, err := readObject(c.body, "login", "password")
	if err != nil {
		return "", "", err
	}
	login, loginErr := fields.text("login")
	password, passwordErr := fields.text("password")
	return login, password, cmp.Or(loginErr, passwordErr)
}

func (h *handler) login(c *call) error {
	login, password, err := c.credentials()
	if err != nil {
		return err
	}
	token, session, err := h.Auth.Login(c, login, password)
	return c.reply(http.StatusOK, map[string]any{"token": token, "expires": session.Expires}, err)
}

func (h *handler) logout(c *call) error {
	return c.done(h.Auth.Logout(c, c.token))
}

// session returns the session of a token to another unit. Without one it answers 404, since 401 would mean
// that the asking unit has no session.
func (h *handler) session(c *call) error {
	session, err := h.Auth.Session(c, c.names[0])
	if problem := airline.ProblemOf(err); err != nil && problem.Kind == airline.NoSession {
		text, _ := json.Marshal(front.Document{Type: typePrefix + string(problem.Kind), // texts cannot fail
			Title: meanings()[problem.Kind].Title, Status: http.StatusNotFound, Detail: problem.Detail})
		front.Write(c.w, front.Answer{Status: http.StatusNotFound, MediaType: front.ProblemType, Body: text})
		return nil
	}
	return c.reply(http.StatusOK, session, err)
}

// check answers another unit whether a password is right.
func (h *handler) check(c *call) error {
	login, password, err := c.credentials()
	if err != nil {
		return err
	}
	return c.done(h.Customers.Check(c, login, password))
}

func (h *handler) customer(c *call) error {
	if err := c.checkOwner(); err != nil {
		return err
	}
	customer, err := h.Customers.Customer(c, c.login)
	return c.reply(http.StatusOK, customer, err)
}

func (h *handler) changeCustomer(c *call) error {
	contact, err := readContact(c.body)
	if err != nil {
		return err
	}
	if err := c.checkOwner(); err != nil {
		return err
	}
	customer, err := h.Customers.SetContact(c, c.login, contact)
	return c.reply(http.StatusOK, customer, err)
}

func (h *handler) flights(c *call) error {
	query, err := url.ParseQuery(strings.ReplaceAll(c.query, ";", "%3B")) // which it would refuse
	if err != nil {
		return rpc.Problemf(airline.BadRequest, "the query is not encoded as URLs are")
	}
	from, fromErr := parameter(query, "from")
	to, toErr := parameter(query, "to")
	date, dateErr := day(query, "date")
	if err := cmp.Or(fromErr, toErr, dateErr); err != nil {
		return err
	}
	back := date
	returns := query.Has("return")
	if returns {
		if back, err = day(query, "return"); err != nil {
			return err
		}
	}
	if err := h.Flights.CheckAirports(c, from, to); err != nil {
		return err
	}
	outbound, err := h.Flights.On(c, from, to, date)
	inbound := []airline.Flight{}
	if err == nil && returns {
		inbound, err = h.Flights.On(c, to, from, back)
	}
	return c.reply(http.StatusOK, map[string][]airline.Flight{"outbound": outbound, "inbound": inbound}, err)
}

// flight returns a flight to another unit.
func (h *handler) flight(c *call) error {
	flight, err := h.Flights.Flight(c, c.names[0])
	return c.reply(http.StatusOK, flight, err)
}

func (h *handler) book(c *call) error {
	flights, err := readOrder(c.body)
	if err != nil {
		return err
	}
	made, err := h.Bookings.Book(c, c.login, flights)
	return c.reply(http.StatusCreated, map[string][]airline.Booking{"bookings": made}, err)
}

func (h *handler) bookings(c *call) error {
	if err := c.checkOwner(); err != nil {
		return err
	}
	found, err := h.Bookings.Of(c, c.login)
	return c.reply(http.StatusOK, map[string][]airline.Booking{"bookings": found}, err)
}

func (h *handler) cancel(c *call) error {
	if !service.IsID(c.names[0]) {
		return rpc.Problemf(airline.UnknownBooking, "ids of bookings are 32 hexadecimal digits")
	}
	return c.done(h.Bookings.Cancel(c, c.login, c.names[0]))
}

// auditTime limits the time of sending the list of all bookings.
const auditTime = time.Minute

// allBookings answers the audit. A failure in the middle of the list breaks the connection, so that a part is
// not taken for the whole.
func (h *handler) allBookings(c *call) error {
	connection := http.NewResponseController(c.w)
	if err := connection.SetWriteDeadline(time.Now().Add(auditTime)); err != nil {
		return fmt.Errorf("send all bookings: %w", err)
	}
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(c.w)
	if err := h.Bookings.Each(c, func(b airline.Booking) error { return encoder.Encode(b) }); err != nil {
		h.LogError(fmt.Errorf("send all bookings: %w", err))
		panic(http.ErrAbortHandler)
	}
	return nil
}

// checkOwner refuses a path of another customer than the session's.
func (c *call) checkOwner() error {
	if c.names[0] != c.login {
		return rpc.Problemf(airline.NotYours, "the session is another customer's")
	}
	return nil
}

// day reads a date of the query that must be there.
func day(query url.Values, name string) (date time.Time, err error) {
	text, err := parameter(query, name)
	if err != nil {
		return date, err
	}
	if date, err = time.Parse(time.DateOnly, text); err != nil {
		return date, rpc.Problemf(airline.BadRequest, "%s is no date: send one such as 2026-01-31", name)
	}
	return date, nil
}

// parameter reads a text of the query that must be there.
func parameter(query url.Values, name string) (string, error) {
	if len(query[name]) != 1 {
		return "", rpc.Problemf(airline.BadRequest, "the query must have %s exactly once", name)
	}
	return checkText(query[name][0], name)
}
