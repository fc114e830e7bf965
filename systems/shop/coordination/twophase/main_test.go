package twophase

import (
	"testing"

	"github.com/cleave-lab/cleave/internal/servers"
)

func TestMain(m *testing.M) { servers.Main(m.Run, nil) }
