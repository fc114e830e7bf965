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

// server answers every GET with a small text, and behaves as its fields say. The zero value
// answers at once.
type server struct {
	// cpu is the CPU time of the process per request, everything included: each request burns what
	// is missing of it.
	cpu time.Duration
	// sleep is how long an answer takes, slow how long every slowEvery-th one does.
	sleep, slow time.Duration
	slowEvery   int
	// errorEvery has every so-manieth answer fail with status 500; 0: none.
	errorEvery int
	// rise makes sleep longer by this share, evenly over the time rising from the first
	// request on.
	rise   float64
	rising time.Duration
	// capacity is how many requests a second are served, one after the other; 0: no limit.
	capacity float64
	// then answers requests when their own time is over; nil: the server does.
	then http.HandlerFunc

	mu       sync.Mutex
	requests int
	began    time.Time     // the first request
	last     time.Time     // the last request
	used     time.Duration // CPU of the process before the first request, and in pauses
	free     time.Time     // when the last one in line is served
}

// serve is a server as a process of its own, until it is asked to end.
func serve(ctx context.Context, arguments []string) error {
	var s server
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "where to listen; empty: everywhere")
	port := flags.Int("port", 0, "where to listen")
	flags.DurationVar(&s.cpu, "cpu", 0, "CPU time per request, all included")
	flags.DurationVar(&s.sleep, "sleep", 0, "how long an answer takes")
	flags.DurationVar(&s.slow, "slow", 0, "how long slow answers take")
	flags.IntVar(&s.slowEvery, "slow-every", 0, "every which answer is slow")
	flags.IntVar(&s.errorEvery, "error-every", 0, "every which answer fails")
	flags.Float64Var(&s.rise, "rise", 0, "by which share -sleep becomes longer")
	flags.DurationVar(&s.rising, "rising", 0, "over which time, from the first request on")
	flags.Float64Var(&s.capacity, "capacity", 0, "requests per second that are served")
	traced := flags.Bool("traced", false, "record spans, and send them to where the environment says")
	calls := flags.String("calls", "", "URLs that each request calls, all at once, when its own time is over")
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

// ServeHTTP implements http.Handler. Requests for /ready tell that the server can be used, those for /used
// how many nanoseconds of CPU the process has used; neither counts.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ready":
		return
	case "/used":
		_, _ = io.WriteString(w, strconv.FormatInt(processCPU().Nanoseconds(), 10))
		return
	}
	number, due := s.admit(time.Now())
	sleepUntil(due.Add(-2 * s.cpu)) // another request may burn meanwhile
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
	_, _ = io.WriteString(w, "fine\n") // a client that left needs no answer
}

// sleepUntil sleeps more precisely than time.Sleep, which may be a millisecond late.
func sleepUntil(due time.Time) {
	const precise = 2 * time.Millisecond // of which a thread sleeps
	time.Sleep(time.Until(due) - precise)
	if left := time.Until(due); left > 0 {
		rest := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&rest, nil) // woken early, it is early
	}
}

// pause is shorter than the time between a warm-up and its load, and longer than any between two requests
// of one load. What the process uses in a pause, as for new connections, is no part of what requests are to
// take: the first ones of a load would burn that much less.
const pause = 500 * time.Millisecond

// admit returns the number of a request, from 1 on, and when its answer is due.
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

// burn uses the processor until the process has used what all requests up to this one are
// to take.
func (s *server) burn(number int) {
	if s.cpu == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for all := s.used + time.Duration(number)*s.cpu; processCPU() < all; {
	}
}

// processCPU returns what this process has used of the processors so far.
func processCPU() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spent); err != nil {
		return 0 // which no kernel says of the own process
	}
	return time.Duration(spent.Nano())
}
