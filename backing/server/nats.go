package server

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsConfig is the file that jetstream.Run reads. Its form stands there and here,
// as whoever starts a server shall not carry one; a test compares the two.
type natsConfig struct {
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password"`
	Folder   string `json:"folder"`
	Memory   int64  `json:"memory_bytes"`
	// Connections is the number of clients.
	Connections int `json:"connections"`
}

func natsProgram() program {
	return program{
		ports: 1, stop: syscall.SIGTERM,
		installed: func(s Settings) (Installed, error) {
			if len(s.NATSCommand) == 0 {
				return Installed{}, errors.New("NATS runs in a program of ours: Settings.NATSCommand must name it")
			}
			return Installed{Path: s.NATSCommand[0], Version: "built in"}, nil
		},
		prepare: func(_ context.Context, i *Instance) error {
			return i.writeJSON("nats.json", natsConfig{
				Address: i.Address(), User: i.user, Password: i.password, Folder: i.file(dataFolder),
				Memory: 4 * i.settings.Memory, Connections: i.settings.Connections,
			})
		},
		processes: func(i *Instance) []process {
			return []process{{name: "nats", env: searchPath(),
				args: append(slices.Clone(i.settings.NATSCommand), i.file("nats.json"))}}
		},
		ready: natsReady,
	}
}

// natsReady asks for the account's streams: JetStream is up when it answers.
func natsReady(ctx context.Context, i *Instance) error {
	connection, err := nats.Connect(i.DSN(""), nats.Timeout(attemptWithin))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	i.Version = connection.ConnectedServerVersion()
	_, err = stream.AccountInfo(ctx)
	return err
}
