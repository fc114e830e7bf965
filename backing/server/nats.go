package server

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cleave-lab/cleave/lab"
)

// installedNATS returns no path, because NATS is one of our unit programs.
func installedNATS() (Installed, error) { return Installed{Version: "built in"}, nil }

// describeNATS fills in the unit with the configuration file of jetstream.Run. It does not use the type of
// its configuration, because this package must not link the NATS server.
func describeNATS(s *Server, unit *lab.UnitSpec) {
	text, err := json.Marshal(map[string]any{
		"address": "{host}:{port}", "user": s.user, "password": s.password, "folder": "{dir}/" + dataFolder,
		"memory_bytes": 4 * s.settings.Memory, "connections": s.settings.Connections})
	if err != nil {
		text = []byte(err.Error()) // cannot happen with texts and numbers
	}
	unit.Files["nats.json"] = text
	unit.Own = string(NATS)
	unit.Args = []string{"{dir}/nats.json"}
}

// natsReady asks JetStream for the account. JetStream is ready once it answers.
func natsReady(ctx context.Context, s *Server, address string) error {
	connection, err := nats.Connect(s.URL(address), nats.Timeout(attemptWithin))
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
