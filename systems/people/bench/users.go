package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/binding/leanhttp"
)

// users are clients of the gateway that create and fetch, each over a connection of its own. They do as
// little work as the load engine does, so that the trial measures the gateway.
type users struct {
	ctx      context.Context // ends the trial
	loop     *eventloop.Loop
	host     string
	left     int // records that no user has begun
	asking   int // users waiting for an answer
	sent     []byte
	response leanhttp.Response
}

// ask creates and fetches all records at an address, by concurrent clients.
func (w work) ask(ctx context.Context, address string) (m measure, err error) {
	// The users share the processors with the gateway. While their loop yields, the gateway often answers, and
	// the loop need not sleep.
	loop, err := eventloop.New(eventloop.Config{Yield: true})
	if err != nil {
		return measure{}, err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()
	u := &users{ctx: ctx, loop: loop, host: address, left: w.records}
	conns := make([]*eventloop.Conn, w.clients)
	for i := range conns {
		if conns[i], err = loop.Dial("tcp", address, &user{users: u}); err != nil {
			return measure{}, err
		}
	}
	ended := w.measured()
	for _, c := range conns {
		if err := u.create(c); err != nil {
			return measure{}, err
		}
	}
	err = loop.Run()
	return ended(), err
}

// create begins the next record. The last user to find none ends the trial; so does the end of the context.
func (u *users) create(c *eventloop.Conn) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	if u.left == 0 {
		if u.asking == 0 {
			u.loop.Stop()
		}
		return nil
	}
	u.left--
	u.asking++
	return u.send(c, http.MethodPost, "/persons", "application/json",
		`{"firstName":"Ada","lastName":"Lovelace"}`)
}

func (u *users) send(c *eventloop.Conn, method, path, contentType, body string) error {
	u.sent = leanhttp.AppendRequest(u.sent[:0], method, u.host, path, contentType, []byte(body))
	return c.Write(u.sent)
}

// user handles the answers on the connection of one client.
type user struct {
	*users
	created bool // its record exists and is being fetched
}

// Data implements eventloop.Handler.
func (u *user) Data(c *eventloop.Conn, data []byte) (int, error) {
	length, err := leanhttp.ParseResponse(data, leanhttp.Limits{}, &u.response)
	if err == nil && length > 0 {
		err = u.answered(c)
	}
	if err != nil {
		u.loop.Fail(err)
	}
	return length, err
}

// Closed implements eventloop.Handler.
func (u *user) Closed(_ *eventloop.Conn, err error) {
	u.loop.Fail(errors.Join(errors.New("the gateway closed a connection"), err))
}

// answered checks an answer and sends the next request: after a creation its fetch, then the next creation.
func (u *user) answered(c *eventloop.Conn) error {
	body := u.response.Body
	if u.created {
		if u.response.Status != http.StatusOK || !bytes.Contains(body, []byte(`"lastName":"Lovelace"`)) {
			return fmt.Errorf("fetch the created person: status %d, %q", u.response.Status, body)
		}
		u.created = false
		u.asking--
		return u.create(c)
	}
	_, id, _ := bytes.Cut(body, []byte(`{"id":"`))
	id, _, named := bytes.Cut(id, []byte(`"}`))
	if u.response.Status != http.StatusCreated || !named {
		return fmt.Errorf("create a person: status %d, %q", u.response.Status, body)
	}
	u.created = true
	return u.send(c, http.MethodGet, "/persons/"+string(id), "", "")
}
