package engine

import (
	"errors"
	"fmt"
)

// Config is one load on one target, played by one loop. The loop calls Connected on its own thread. In a
// closed loop every user has a connection of its own.
type Config struct {
	Target Target
	Load
}

// check returns all mistakes and fills in defaults.
func (c *Config) check() error {
	err := c.Check()
	if c.Users != nil {
		c.Connections = c.Users.Number
	}
	if c.Connections < 1 || c.Connections > MaxConnections {
		err = errors.Join(err, fmt.Errorf("engine: %d connections or users: use 1 to %d", c.Connections,
			MaxConnections))
	}
	return err
}
