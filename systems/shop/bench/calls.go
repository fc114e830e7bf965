package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// callJob is a trial of a binding. A trial is a process of its own with both ends, so that the usage of the
// process, which includes the kernel's part, is the cost of the calls. That holds for our bindings and for
// those that they are compared with.
type callJob struct {
	Binding string `json:"binding"` // a name of transports
	Calls   int    `json:"calls"`
	Callers int    `json:"callers"` // concurrent
	// Security is a value of kit.KnobSecurity. Anew: every call makes a connection.
	Security string `json:"security"`
	Anew     bool   `json:"anew"`
	Encoding string `json:"encoding"` // a value of kit.KnobEncoding
	Sizes    bool   `json:"sizes"`    // bytes are counted, too
}

// callCost is the result of a trial of a binding.
type callCost struct {
	CPU  float64 `json:"cpu_seconds"`  // per call
	Wall float64 `json:"wall_seconds"` // per call, of all callers together
	// Bytes of a call in both directions, with what the binding adds; 0 where they are not counted.
	Bytes float64 `json:"bytes"`
}

func playHTTP(ctx context.Context, o options) ([]figures.Figure, error) {
	return playCalls(ctx, o, "HTTP+JSON", figures.Goal{Must: 1.1, Stretch: 0.7}, "httpjson", "net/http")
}

func playGRPC(ctx context.Context, o options) ([]figures.Figure, error) {
	return playCalls(ctx, o, "gRPC", figures.Goal{Must: 1.1, Stretch: 1}, "grpcunary", "grpc-go")
}

// playCalls compares one of our bindings with the stock one.
func playCalls(
	ctx context.Context, o options, name string, goal figures.Goal, ours, theirs string,
) (all []figures.Figure, err error) {
	// One call shows the way there and back; 16 are as many as a unit has connections to its database.
	for _, callers := range []int{1, 16} {
		side := func(binding string) figures.Side[callCost] {
			return callSide(o, callJob{Binding: binding, Callers: callers, Security: kit.Plain})
		}
		results, err := figures.Play(ctx, o.figureRounds(), side(ours), side(theirs))
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("%d at once", callers)
		for i, binding := range []string{ours, theirs} {
			all = append(all,
				figures.Median(fmt.Sprintf("%s call, CPU, %s, %s", name, binding, what), "s", lab.LowerIsBetter,
					figures.Each(results[i], callCost.cpu)),
				figures.Median(fmt.Sprintf("%s call, wall, %s, %s", name, binding, what), "s", lab.LowerIsBetter,
					figures.Each(results[i], callCost.wall)))
		}
		ratio, err := figures.Ratio(fmt.Sprintf("%s binding / %s, CPU per call, %s", name, theirs, what),
			lab.LowerIsBetter,
			figures.Each(results[0], callCost.cpu), figures.Each(results[1], callCost.cpu))
		if err != nil {
			return nil, err
		}
		all = append(all, ratio.To(goal))
	}
	return all, nil
}

func (c callCost) cpu() float64   { return c.CPU }
func (c callCost) wall() float64  { return c.Wall }
func (c callCost) bytes() float64 { return c.Bytes }

// callSide returns a binding as a side of a row.
func callSide(o options, job callJob) figures.Side[callCost] {
	job.Calls = o.calls
	return figures.Side[callCost]{
		Name: fmt.Sprintf("%s, %d at once", job.Binding, job.Callers),
		Play: func(ctx context.Context, _ uint64) (callCost, error) { return inOwnProcess(ctx, job) },
		Says: func(c callCost) string { return fmt.Sprintf("CPU %.1f us, wall %.1f us", 1e6*c.CPU, 1e6*c.Wall) },
	}
}

// inOwnProcess plays a trial in a process of its own.
func inOwnProcess(ctx context.Context, job callJob) (cost callCost, err error) {
	own, err := os.Executable()
	if err != nil {
		return cost, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return cost, err
	}
	var out bytes.Buffer
	trial := exec.CommandContext(ctx, own, callsName, string(text))
	trial.Stdout = &out
	trial.Stderr = os.Stderr
	if err := trial.Run(); err != nil {
		return cost, fmt.Errorf("trial of %s: %w", job.Binding, err)
	}
	err = json.Unmarshal(out.Bytes(), &cost)
	return cost, err
}

// runCalls runs a trial of a binding in this process.
func runCalls(argument string) (err error) {
	var job callJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	catalog, stop, err := serveQuotes(job, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := callAll(catalog, job.Callers, job.Calls/10+job.Callers); err != nil { // warm up
		return err
	}
	began := time.Now()
	used := figures.OwnCPU()
	if err := callAll(catalog, job.Callers, job.Calls); err != nil {
		return err
	}
	cpu := figures.OwnCPU() - used
	wall := time.Since(began)
	calls := float64(job.Calls)
	cost := callCost{CPU: cpu.Seconds() / calls, Wall: wall.Seconds() / calls}
	if job.Sizes {
		if cost.Bytes, err = bytesPerCall(job); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

// callAll asks for a number of quotes by concurrent callers, each with a deadline as between units.
func callAll(catalog shop.Catalog, callers, calls int) error {
	return figures.InParallel(callers, calls, func(int, int) error { return callOnce(catalog) })
}

func callOnce(catalog shop.Catalog) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := catalog.Quote(ctx, &shoppb.QuoteRequest{ProductIds: []int64{17, 334, 651}})
	if err == nil && len(answer.GetProducts()) != 3 {
		err = fmt.Errorf("the answer is %v", answer)
	}
	return err
}

// quotes is a catalog with a prepared answer: only the way to it is measured.
type quotes struct{ shop.Catalog }

// Quote implements shop.Catalog.
func (quotes) Quote(_ context.Context, in *shoppb.QuoteRequest) (*shoppb.QuoteResponse, error) {
	products := make([]*shoppb.Product, len(in.GetProductIds()))
	for i, id := range in.GetProductIds() {
		products[i] = &shoppb.Product{ProductId: id, Name: "Small Red Teapot 42", PriceCents: 1999 + id}
	}
	return &shoppb.QuoteResponse{Products: products}, nil
}
