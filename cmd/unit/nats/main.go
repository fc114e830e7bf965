// Command nats is our own broker: a NATS server with JetStream, which runs until SIGTERM
// or SIGINT. Deployers start it; its argument is the path of its configuration.
package main

import (
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/backing/server/jetstream"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: nats CONFIGURATION")
		os.Exit(2)
	}
	if err := jetstream.Run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err) // it begins with what nats did
		os.Exit(1)
	}
}
