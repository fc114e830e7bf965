package gateway

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/requestlog"
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
		g.lean(leanhttp.Front(backend.Log.Handler(g)), backend.Log), g.Malformed)
	if err != nil {
		return err
	}
	return rpc.Serve(ctx, listener, server, requestTimeout)
}

// lean answers what clients ask for nearly always without making a request of net/http
// of it; what else they ask, others answers.
func (g *gateway) lean(others leanhttp.Respond, log *requestlog.Log) leanhttp.Respond {
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
		began := time.Now()
		a := g.Do(ctx, work)
		if log != nil { // its text is not made for nothing
			log.Client(ctx, began, patternOf(kind, id), a.Status, len(a.Body))
		}
		return leanhttp.AppendResponse(out, a.Status, clock.Date(), a.MediaType, a.Body, last, a.Header...)
	}
}

// patternOf returns the pattern of net/http that takes the same requests.
func patternOf(kind people.Kind, id string) string {
	if id == "" {
		return creation(kind)
	}
	return fetching(kind)
}

// route returns the kind, and the id where there is one, that a target of the usual form
// names. Other targets may name some too, once they are decoded and cleaned.
func route(target []byte) (kind people.Kind, id string, usual bool) {
	name, rest, named := bytes.Cut(target[1:], []byte{'/'})
	for _, c := range rest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return "", "", false
		}
	}
	for _, kind := range people.Kinds() {
		if string(name) == string(kind) {
			return kind, string(rest), !named || len(rest) > 0
		}
	}
	return "", "", false
}
