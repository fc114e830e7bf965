package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
)

// takenPath is the path at which each unit that takes or publishes events is asked while the shop settles.
// The answer is the number of messages that the unit has taken in since its start, or event.Working while it
// works on one or has one to publish. It is no call of the shop, and its bytes are not counted.
const takenPath = SettledPath + "/taken"

// taken returns the unit's answer at takenPath.
func (u *Unit) taken(ctx context.Context) (int64, error) {
	if more, err := u.unpublished(ctx); err != nil || more {
		return event.Working, err
	}
	return event.Taken(u.around.Broker), nil
}

// takenByAll returns the number of messages that all units with events have taken in, or event.Working if one
// of them works.
func (u *Unit) takenByAll(ctx context.Context) (int64, error) {
	sum, err := u.taken(ctx)
	for _, kind := range u.design.Units {
		if !u.design.HandlesEvents(kind) {
			continue
		}
		for _, instance := range kind.Instances() {
			if err != nil || sum == event.Working {
				return sum, err
			}
			if instance == u.Name {
				continue
			}
			var taken int64
			if taken, err = u.takenBy(ctx, instance); taken == event.Working {
				sum = event.Working
			} else {
				sum += taken
			}
		}
	}
	return sum, err
}

// takenBy asks all replicas of an instance. One on standby need not be there yet.
func (u *Unit) takenBy(ctx context.Context, instance string) (sum int64, err error) {
	addresses, err := u.place.Peer(lab.Direct(instance)) // it is no call: it passes no proxy
	if err != nil {
		addresses, err = u.peer(instance)
	}
	if err != nil {
		return event.Working, err
	}
	for address, standby := range rpc.Replicas(addresses) {
		taken, err := askTaken(ctx, address)
		switch {
		case err != nil && standby:
		case err != nil || taken == event.Working:
			return event.Working, err
		default:
			sum += taken
		}
	}
	return sum, nil
}

// askTaken asks a unit at an address: host:port, or unix:PATH.
func askTaken(ctx context.Context, address string) (int64, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return rpc.Dial(ctx, address) }}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://unit"+takenPath, nil)
	if err != nil {
		return event.Working, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return event.Working, err
	}
	const longest = 1 << 10
	text, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return event.Working, err
	}
	taken, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return event.Working, fmt.Errorf("the unit at %s says %q of its events", address, text)
	}
	return taken, nil
}

// answerTaken answers takenPath.
func (u *Unit) answerTaken(w http.ResponseWriter, r *http.Request) {
	taken, err := u.taken(r.Context())
	text := strconv.FormatInt(taken, 10)
	if err != nil {
		text = err.Error()
	}
	_, _ = io.WriteString(w, text) // the caller asks again
}
