package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

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
}

// patience limits the wait for a shop to be ready.
const patience = time.Minute

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
	if _, err := job.place(address, sent[:job.WarmUp]); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if err := errors.Join(channel.Ready(), channel.Await(lab.CommandStart)); err != nil {
		return err
	}
	took, err := job.place(address, sent[job.WarmUp:])
	if err != nil {
		return err
	}
	if err := errors.Join(channel.Finished(took), channel.Await(lab.CommandStop)); err != nil {
		return err
	}
	return channel.Report(struct{}{})
}

// place sends the orders, waits until the shop has settled, and returns the time until all orders were final.
func (j clientJob) place(address string, sent [][]byte) (time.Duration, error) {
	began := time.Now()
	if err := sendAll(address, j.Clients, sent, j.State); err != nil {
		return 0, err
	}
	answered := time.Since(began)
	settled, err := settle("http://" + address + assembly.SettledPath)
	return answered + settled, err
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

// settle waits until a shop has settled, and returns the time until all orders were final, from the answer's
// Server-Timing.
func settle(url string) (time.Duration, error) {
	response, err := (&http.Client{Timeout: trialTimeout}).Get(url)
	if err != nil {
		return 0, err
	}
	var milliseconds float64
	if _, err = fmt.Sscanf(response.Header.Get("Server-Timing"), "settle;dur=%f", &milliseconds); err != nil {
		err = fmt.Errorf("%s was answered with status %s and no time: %w", url, response.Status, err)
	}
	took := time.Duration(milliseconds * float64(time.Millisecond))
	return took, errors.Join(err, response.Body.Close())
}
