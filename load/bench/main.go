//go:build linux

// Command bench compares the load engine with its peers: wrk, wrk2, ab, h2load, oha, fortio, hey, vegeta,
// k6 and ghz, if they are available. The target is its own server, or nginx for TLS and HTTP/2. It also
// measures the cost of the kernel alone. Generator and target have a processor each (several, where one and
// two sending threads are compared), the tools take turns in rotating order, and every figure is a median.
// It also watches the engine's memory for ten minutes, and has it search for capacities that are known by
// theory.
//
// `make bench-load` runs it; results/bench/load.json holds the figures. -quick is a short run that checks
// that everything works.
//
// The program starts itself as two other commands: target runs the server, and floor is a generator of load
// that does as little as possible.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/cleave-lab/cleave/load/bench/target"
)

func main() {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "target":
		err = serve(os.Args[2:])
	case len(os.Args) == 4 && os.Args[1] == "floor":
		err = floor(os.Args[2], os.Args[3])
	default:
		err = bench(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serve runs the target in this process until SIGTERM or an interrupt. It prints the port, and at the end the
// number of requests. With -grpc it answers gRPC calls instead, and ignores all other flags.
func serve(arguments []string) error {
	var config target.Config
	flags := flag.NewFlagSet("target", flag.ContinueOnError)
	flags.IntVar(&config.Port, "port", 0, "port on 127.0.0.1; 0: the kernel chooses one")
	flags.DurationVar(&config.StallAt, "stall-at", 0, "time from the first request to the stall")
	flags.DurationVar(&config.StallFor, "stall-for", 0, "length of the stall; 0: none")
	flags.DurationVar(&config.Service.Mean, "service", 0,
		"mean service time of a queue with one server in front of the answers; 0: no queue")
	flags.BoolVar(&config.Service.Exponential, "exponential", false, "draw exponential service times")
	flags.Uint64Var(&config.Service.Seed, "seed", 1, "seed of the exponential service times")
	grpc := flags.Bool("grpc", false, "answer unary calls of gRPC instead")
	stamps := flags.String("stamps", "", "write the receive times of all requests to this file")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	config.Stamps = *stamps != "" && !*grpc
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	printPort := func(port int) { fmt.Println(port) }
	var count target.Count
	var err error
	if *grpc {
		count.Requests, err = serveGRPC(ctx, printPort)
	} else {
		count, err = target.Serve(ctx, config, printPort)
	}
	if err != nil {
		return err
	}
	if config.Stamps {
		if err := writeStamps(*stamps, count.Stamps); err != nil {
			return err
		}
	}
	fmt.Println(count.Requests)
	return nil
}

// writeStamps writes times as little-endian numbers of 64 bits.
func writeStamps(path string, stamps []int64) error {
	data := make([]byte, 0, 8*len(stamps))
	for _, stamp := range stamps {
		data = binary.LittleEndian.AppendUint64(data, uint64(stamp))
	}
	return os.WriteFile(path, data, 0o644)
}
