package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/unit"
)

// clientJob is the job of the clients' process, as JSON.
type clientJob struct {
	Unit    string     `json:"unit"` // the one in front
	Seed    uint64     `json:"seed"`
	Orders  int        `json:"orders"`
	WarmUp  int        `json:"warm_up"` // orders before the measured ones
	Clients int        `json:"clients"`
	State   shop.State `json:"state"` // of an order in its answer
	// Settle is the database of the orders if answers come before orders are final: then the clock runs until
	// all are final. Empty: orders are final when they are answered.
	Settle string `json:"settle,omitempty"`
}

const (
	// patience limits each wait: for a shop to be ready and, once all orders are placed, for one more of them to
	// be final.
	patience = time.Minute
	// settleInterval is the pause between two counts of the open orders.
	settleInterval = 100 * time.Millisecond
)

// runClients plays the clients' part of a trial.
func runClients(channel *unit.Channel, argument string) error {
	var job clientJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	address, err := unit.PeerAddress(job.Unit)
	if err != nil {
		return err
	}
	if err := awaitReady("http://" + address + "/health"); err != nil {
		return err
	}
	sent := requests(makeJobs(job.Seed, job.WarmUp+job.Orders))
	if err := job.place(address, sent[:job.WarmUp]); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if err := errors.Join(channel.Ready(), channel.Await(lab.CommandStart)); err != nil {
		return err
	}
	began := time.Now()
	if err := job.place(address, sent[job.WarmUp:]); err != nil {
		return err
	}
	if err := errors.Join(channel.Finished(time.Since(began)), channel.Await(lab.CommandStop)); err != nil {
		return err
	}
	return channel.Report(struct{}{})
}

// place sends the orders and, if j.Settle is set, waits until all are final.
func (j clientJob) place(address string, sent [][]byte) error {
	if err := sendAll(address, j.Clients, sent, j.State); err != nil || j.Settle == "" {
		return err
	}
	return settle(context.Background(), j.Settle, patience)
}

func awaitReady(url string) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := checkReady(url)
		if err == nil {
			return nil
		}
		if time.Since(began) > patience {
			return fmt.Errorf("%s is not ready after %v: %w", url, patience, err)
		}
	}
}

// checkReady returns nil if the answer has the status 200, or the error of this attempt.
func checkReady(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// settle waits until every order in the database of that name is final. It gives up if none has become final
// for longer than limit.
func settle(ctx context.Context, name string, limit time.Duration) (err error) {
	where, err := database.ParsePlace(os.Getenv(lab.ServiceVariable(assembly.ServiceDatabase)))
	if err != nil {
		return err
	}
	db, err := database.Open(ctx, where.Config(name, 1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	fewest, progress := int64(math.MaxInt64), time.Now()
	for ; ; time.Sleep(settleInterval) {
		var open int64
		_, err := db.One(ctx, []any{&open}, "SELECT COUNT(*) FROM orders WHERE state NOT IN (?, ?, ?)",
			string(shop.StateConfirmed), string(shop.StateRejected), string(shop.StateCancelled))
		if err != nil || open == 0 {
			return err
		}
		if open < fewest {
			fewest, progress = open, time.Now()
		}
		if time.Since(progress) > limit {
			return fmt.Errorf("%d orders are not final, and none has become so for %v: see the logs of the units",
				open, limit)
		}
	}
}
