package server

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cleave-lab/cleave/lab"
)

// natsConfig is the configuration file of jetstream.Run. It is declared here a second
// time, because this package must not link the NATS server; a test compares the two.
type natsConfig struct {
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password"`
	Folder   string `json:"folder"`
	Memory   int64  `json:"memory_bytes"`
	// Connections is the maximum number of clients.
	Connections int `json:"connections"`
}

// installedNATS returns no path, because NATS is one of our unit programs.
func installedNATS() (Installed, error) { return Installed{Version: "built in"}, nil }

func describeNATS(s *Server, unit *lab.UnitSpec) {
	text, err := json.Marshal(natsConfig{
		Address: "{host}:{port}", User: s.user, Password: s.password, Folder: "{dir}/" + dataFolder,
		Memory: 4 * s.settings.Memory, Connections: s.settings.Connections,
	})
	if err != nil {
		text = []byte(err.Error()) // cannot happen with texts and numbers
	}
	unit.Files["nats.json"] = text
	unit.Own, unit.Args = string(NATS), []string{"{dir}/nats.json"}
}

// natsReady asks JetStream for the account. JetStream is ready once it answers.
func natsReady(ctx context.Context, s *Server, address string) error {
	connection, err := nats.Connect(s.DSN(address, ""), nats.Timeout(attemptWithin))
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	s.Version = connection.ConnectedServerVersion()
	_, err = stream.AccountInfo(ctx)
	return err
}
