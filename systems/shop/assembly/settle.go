package assembly

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// SettledPath is asked by who measures, at the units that take orders: it is
// answered with 204 as soon as every order is final and, as far as can be seen from
// there, no saga and no message is under way, those for read models included. The
// header Server-Timing says how long it took until all orders were final. It is not
// part of the shop's public interface.
const SettledPath = "/settled"

// withSettled puts SettledPath in front of the public interface until ctx ends.
func (u *unit) withSettled(ctx context.Context, public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != SettledPath || r.Method != http.MethodGet {
			u.requests.begun.Add(1)
			defer u.requests.ended.Add(1)
			public.ServeHTTP(w, r)
			return
		}
		limited, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		u.answerSettled(limited, w)
	})
}

// answerSettled holds the answer back until all is done. It starts to look when it
// is asked.
func (u *unit) answerSettled(ctx context.Context, w http.ResponseWriter) {
	asked := time.Now()
	connection := http.NewResponseController(w)
	for _, unlimited := range []func(time.Time) error{connection.SetReadDeadline, connection.SetWriteDeadline} {
		if err := unlimited(time.Time{}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	answered := u.requests.answered()
	work := look{unit: u, last: views}
	err := u.await(ctx, u.quietLooks(), work.left)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	u.requests.settled.Store(answered)
	w.Header().Set("Server-Timing", fmt.Sprintf("settle;dur=%.3f", 1e3*work.final.Sub(asked).Seconds()))
	w.WriteHeader(http.StatusNoContent)
}

// requests counts those of the public interface that have come to a unit.
type requests struct {
	begun, ended atomic.Int64
	settled      atomic.Int64 // what answered said before all work was last found done
}

// answered is how many have come, or 0 while one of them is in flight.
func (r *requests) answered() int64 {
	came := r.begun.Load()
	if r.ended.Load() != came {
		return 0
	}
	return came
}

// settledSince reports whether all work was found done, and none has come since.
func (r *requests) settledSince() bool {
	return r.settled.Load() > 0 && r.settled.Load() == r.begun.Load()
}
