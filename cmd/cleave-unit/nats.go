package main

import (
	"github.com/cleave-lab/cleave/backing/server/jetstream"
	"github.com/cleave-lab/cleave/unit"
)

// natsName is the argument that makes this program the embedded broker.
const natsName = "nats"

// runNATS is a NATS server with JetStream until it is told to end.
func runNATS(_ *unit.Channel, configuration string) error { return jetstream.Run(configuration) }
