//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// server answers every request with a short text, and behaves as its fields say. The zero
// value answers at once.
type server struct {
	// cpu is the CPU time of the whole process per request: each request burns the part that the
	// process has not used yet.
	cpu time.Duration
	// sleep is the time that an answer takes, slow the time that every slowEvery-th answer takes.
	sleep, slow time.Duration
	slowEvery   int
	// errorEvery makes every errorEvery-th answer fail with status 500; 0: none.
	errorEvery int
	// rise is the share by which sleep grows, linearly over the time rising after the first
	// request.
	rise   float64
	rising time.Duration
	// capacity is the number of requests that are served per second, one after the other; 0: no limit. It
	// determines the time of an answer: sleep, slow and rise then have no effect.
	capacity float64
	// then answers a request after its time; nil: the server answers itself.
	then http.HandlerFunc

	mu       sync.Mutex
	requests int
	began    time.Time     // when the first request came
	last     time.Time     // when the last request came
	used     time.Duration // CPU time of the process before the first request and in pauses
	free     time.Time     // when the last request in the queue has been served
}

// serve runs a server until the context ends. It prints its URL.
func serve(ctx context.Context, arguments []string) error {
	var s server
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "`address` to listen on; empty: all addresses")
	port := flags.Int("port", 0, "port to listen on; 0: any")
	flags.DurationVar(&s.cpu, "cpu", 0, "CPU time of the whole process per request")
	flags.DurationVar(&s.sleep, "sleep", 0, "time that an answer takes")
	flags.DurationVar(&s.slow, "slow", 0, "time that a slow answer takes")
	flags.IntVar(&s.slowEvery, "slow-every", 0, "every `n`-th answer is slow; 0: none")
	flags.IntVar(&s.errorEvery, "error-every", 0, "every `n`-th answer fails; 0: none")
	flags.Float64Var(&s.rise, "rise", 0, "share by which -sleep grows")
	flags.DurationVar(&s.rising, "rising", 0, "time over which it grows, from the first request on")
	flags.Float64Var(&s.capacity, "capacity", 0, "requests that are served per second; 0: no limit")
	traced := flags.Bool("traced", false, "record spans, and send them to the receiver of the environment")
	calls := flags.String("calls", "", "URLs that each request calls, all at once, after its own time")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var handler http.Handler = &s
	if *traced {
		tracing, err := newTracing(ctx, strings.Fields(*calls))
		if err != nil {
			return err
		}
		defer tracing.end()
		s.then, handler = tracing.call, tracing.around(&s)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(*host, strconv.Itoa(*port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	web := http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler. A request for /used returns the CPU time of the process in nanoseconds,
// and is not counted.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/used" {
		_, _ = io.WriteString(w, strconv.FormatInt(processCPU().Nanoseconds(), 10))
		return
	}
	number, due := s.admit(time.Now())
	sleepUntil(due.Add(-2 * s.cpu)) // leaves time for another request to burn first
	s.burn(number)
	sleepUntil(due)
	if s.errorEvery > 0 && number%s.errorEvery == 0 {
		http.Error(w, "this one fails", http.StatusInternalServerError)
		return
	}
	if s.then != nil {
		s.then(w, r)
		return
	}
	_, _ = io.WriteString(w, "fine\n") // the client may have closed the connection
}

// sleepUntil sleeps more precisely than time.Sleep, which may be a millisecond late.
func sleepUntil(due time.Time) {
	const precise = 2 * time.Millisecond // the last part, which a thread sleeps
	time.Sleep(time.Until(due) - precise)
	if left := time.Until(due); left > 0 {
		rest := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&rest, nil) // a signal may end it early, which does not matter
	}
}

// pause is shorter than the time between a warm-up and its load, and longer than that between two requests
// of one load. CPU time that the process uses in a pause, for example for new connections, is not counted as
// time of requests: otherwise the first requests of a load would burn less.
const pause = 500 * time.Millisecond

// admit returns the number of a request, from 1 on, and the time at which its answer is due.
func (s *server) admit(now time.Time) (number int, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.requests == 1 {
		s.began = now
	}
	if now.Sub(s.last) > pause {
		s.used = processCPU() - time.Duration(s.requests-1)*s.cpu
	}
	s.last = now
	takes := s.sleep
	if s.rising > 0 {
		risen := min(1, now.Sub(s.began).Seconds()/s.rising.Seconds())
		takes += time.Duration(float64(s.sleep) * s.rise * risen)
	}
	if s.slowEvery > 0 && s.requests%s.slowEvery == 0 {
		takes = s.slow
	}
	due = now.Add(takes)
	if s.capacity > 0 {
		if s.free.Before(now) {
			s.free = now
		}
		s.free = s.free.Add(time.Duration(float64(time.Second) / s.capacity))
		due = s.free
	}
	return s.requests, due
}

// burn uses the processor until the process has used the CPU time of all requests up to this
// one.
func (s *server) burn(number int) {
	if s.cpu == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for all := s.used + time.Duration(number)*s.cpu; processCPU() < all; {
	}
}

// processCPU returns the CPU time that this process has used so far.
func processCPU() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spent); err != nil {
		return 0 // cannot happen: every kernel has this clock
	}
	return time.Duration(spent.Nano())
}
