package peopleunit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// TestOnCassandra checks the behaviour on a real server, and that a record survives its crash.
func TestOnCassandra(t *testing.T) {
	instance := servers.Started(t, server.Cassandra, server.Settings{})
	s := startAt(t, architecture.Services, map[string]string{architecture.KnobStore: architecture.Cassandra},
		instance.URL(), instance.Volume(), []byte("this is some key"))
	t.Run("created and fetched", func(t *testing.T) { createsAndFetches(t, s) })
	t.Run("refused", func(t *testing.T) { refusesNonsense(t, s) })
	t.Run("spoiled", func(t *testing.T) { tellsWhatIsSpoiled(t, s) })
	id := s.create(t, "profiles")
	testset.Must(t, errors.Join(instance.Kill(), instance.Restart(context.Background())))
	// the client may need some time to reconnect
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, _, answer := s.ask(t, "GET", "/profiles/"+id, "", "")
		if status == 200 {
			break
		}
		if status != 503 && status != 504 || time.Now().After(end) {
			t.Fatalf("after the server's crash: %d %s", status, answer)
		}
	}
}
