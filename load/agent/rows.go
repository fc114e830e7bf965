package agent

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/unit"
)

// rowsAtOnce is the number of rows in one event: some 60 kB, so that neither side needs much memory.
const rowsAtOnce = 256

// sentRows sends rows to the leader during the load. If the leader reads slowly, add waits.
type sentRows struct {
	channel *unit.Channel
	also    func(record.Row) error // called with every row, too; may be nil
	waiting []record.Row
}

// add sends a row, with others, once there are rowsAtOnce.
func (l *sentRows) add(r record.Row) error {
	var err error
	if l.also != nil {
		err = l.also(r)
	}
	l.waiting = append(l.waiting, r)
	if len(l.waiting) == rowsAtOnce {
		err = errors.Join(err, l.send())
	}
	return err
}

// send sends the rows that still wait.
func (l *sentRows) send() error {
	if len(l.waiting) == 0 {
		return nil
	}
	var data bytes.Buffer
	err := gob.NewEncoder(&data).Encode(l.waiting)
	l.waiting = l.waiting[:0]
	if err != nil {
		return fmt.Errorf("list of operations: %w", err)
	}
	return l.channel.Tell(eventRows, data.Bytes())
}

// gatheredRows passes the rows of all agents to one function, one at a time.
type gatheredRows struct {
	mu  sync.Mutex
	row func(record.Row) error // nil: no rows are wanted
	err error                  // the first error of row; row is not called after it
}

// wanted reports whether the caller wants rows.
func (g *gatheredRows) wanted() bool { return g != nil && g.row != nil }

// take passes on the rows of an agent, with its name.
func (g *gatheredRows) take(agent string, rows []record.Row) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range rows {
		r.Agent = agent
		if g.err == nil {
			g.err = g.row(r)
		}
	}
}

// readRows decodes the data of an event.
func readRows(data json.RawMessage) ([]record.Row, error) {
	var packed []byte
	var rows []record.Row
	err := json.Unmarshal(data, &packed)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(packed)).Decode(&rows)
	}
	if err != nil {
		return nil, fmt.Errorf("its list of operations cannot be read: %w", err)
	}
	return rows, nil
}
