package gateway

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/unit"
)

// ServeLean does the same as Serve with our own binding.
func ServeLean(ctx context.Context, listener net.Listener, backend Backend) error {
	g := newGateway(backend)
	server, err := leanhttp.NewServer(leanhttp.Limits{Head: unit.FrontMaxHeader, Body: maxBody},
		leanhttp.Patience{Request: unit.FrontReadTimeout, Idle: unit.FrontIdleTimeout,
			Answer: unit.FrontReadTimeout},
		g.lean(leanhttp.Front(backend.observed(g)), backend), g.Malformed)
	if err != nil {
		return err
	}
	return rpc.Serve(ctx, listener, server, requestTimeout)
}

// lean answers requests of the usual form without converting them to those of net/http; others answers the
// rest.
func (g *gateway) lean(others leanhttp.Respond, backend Backend) leanhttp.Respond {
	clock := &leanhttp.Clock{}
	return func(ctx context.Context, r *leanhttp.Request, last bool, out []byte) []byte {
		var work func(context.Context) (front.Answer, error)
		kind, id, usual := route(r.Target)
		switch method := string(r.Method); {
		case usual && method == http.MethodPost && id == "":
			work = func(ctx context.Context) (front.Answer, error) {
				if err := front.CheckType(string(r.ContentType)); err != nil {
					return front.Answer{}, err
				}
				return g.create(ctx, kind, r.Body)
			}
		case usual && method == http.MethodGet && id != "":
			work = func(ctx context.Context) (front.Answer, error) { return g.fetch(ctx, kind, id) }
		default:
			return others(ctx, r, last, out)
		}
		a := g.answer(ctx, backend, kind, id, work)
		return leanhttp.AppendResponse(out, a.Status, clock.Date(), a.MediaType, a.Body, last, a.Header...)
	}
}

// answer does the work of a request of the usual form, and logs and traces it.
func (g *gateway) answer(
	ctx context.Context, backend Backend, kind people.Kind, id string,
	work func(context.Context) (front.Answer, error),
) front.Answer {
	operation := fetching[kind] // the pattern of net/http that takes the same requests
	if id == "" {
		operation = creation[kind]
	}
	if backend.Log == nil && backend.Spans == nil {
		return g.Do(ctx, operation, work)
	}
	began := time.Now()
	ctx, request := front.Enter(ctx, backend.Spans, operation, component)
	defer request.End()
	a := g.Do(ctx, operation, work)
	backend.Log.Client(ctx, began, operation, a.Status, len(a.Body))
	return a
}

// route returns the kind and the id, if any, in a target of the usual form: /KIND or /KIND/ID. Other targets
// may name the same records: net/http decodes and cleans them.
func route(target []byte) (kind people.Kind, id string, usual bool) {
	name, rest, slash := bytes.Cut(target[1:], []byte{'/'})
	for _, c := range rest {
		isOfID := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c == '-'
		if !isOfID {
			return "", "", false
		}
	}
	for _, kind := range people.Kinds() {
		if string(name) == string(kind) {
			return kind, string(rest), !slash || len(rest) > 0
		}
	}
	return "", "", false
}
