package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// On a RabbitMQ that others use, too, all names of a client begin with a prefix. AMQP
// cannot list the queues of a broker. So before a client declares queues, it writes a note
// with their names into a queue, the registry. There Sweep finds them even if the client
// dies.
const (
	// root begins every prefix.
	root = "cleave_"
	// registry is the queue of notes. It exists only while there are notes.
	registry = root + "declared"
	// sweeping is a queue that exists only while a client reads the registry.
	sweeping = root + "sweeping"
)

// note lists the exchange and the queues of a client, with the prefix in their names.
type note struct {
	Prefix   string   `json:"prefix"`
	Exchange string   `json:"exchange"`
	Queues   []string `json:"queues"`
}

// prefixOf returns the prefix in an address, or "" if there is none.
func prefixOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("its address is not a URL")
	}
	prefix := u.Query().Get("prefix")
	if prefix != "" && !regexp.MustCompile(`^`+root+`[a-z0-9_]+_$`).MatchString(prefix) {
		return "", fmt.Errorf("prefix %q: it begins with %s, has lower-case letters, digits and underscores, and "+
			"one of these at its end", prefix, root)
	}
	return prefix, nil
}

// noteOf returns the note for a topology.
func (r *rabbit) noteOf(topology Topology) note {
	n := note{Prefix: r.prefix, Exchange: r.prefix + topology.Exchange}
	for _, queue := range topology.allQueues() {
		n.Queues = append(n.Queues, r.prefix+queue)
	}
	return n
}

// writeNote puts a note into the registry, with the names that Declare is about to create. A Sweep may
// delete the empty registry between its declaration and the publication: then writeNote tries again.
func (r *rabbit) writeNote(ctx context.Context, topology Topology) error {
	if r.prefix == "" {
		return nil
	}
	text, err := json.Marshal(r.noteOf(topology))
	if err != nil {
		return err
	}
	for {
		err := r.withChannel(ctx, func(channel *amqp.Channel) error {
			_, err := channel.QueueDeclare(registry, true, false, false, false, amqp.Table{"x-queue-type": "classic"})
			return err
		})
		if err == nil {
			err = r.publishAll(ctx, 1, func(int) (string, string, amqp.Publishing) {
				return "", registry, toAMQP(Message{ID: r.prefix, Body: text})
			}).result()
		}
		if !errors.Is(err, ErrUnrouted) || ctx.Err() != nil {
			return err
		}
	}
}

// Version asks the RabbitMQ at an address for its version.
func Version(ctx context.Context, address string) (version string, err error) {
	err = connected(ctx, address, func(connection *amqp.Connection) error {
		version, _ = connection.Properties["version"].(string)
		return nil
	})
	return version, err
}

// Sweep removes the exchanges and queues of clients, with their messages, from the RabbitMQ at an address.
// match selects the clients by prefix. These clients must have ended.
func Sweep(ctx context.Context, address string, match func(prefix string) bool) error {
	return connected(ctx, address, func(connection *amqp.Connection) error {
		if err := sweepAlone(ctx, connection); err != nil {
			return fmt.Errorf("wait for another sweep of the broker: %w", err)
		}
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		others, err := sweep(channel, match)
		// A closed channel means that there is no registry: the broker closes it after a refused request.
		if err != nil || others > 0 || channel.IsClosed() {
			return err
		}
		_, err = channel.QueueDelete(registry, false, true, false)
		return ignore(err, amqp.PreconditionFailed) // a client has just written a note
	})
}

// connected opens a connection, calls work with it and closes it. It does not wait for an
// unavailable broker.
func connected(ctx context.Context, address string, work func(*amqp.Connection) error) error {
	connection, err := amqp.DialConfig(address, amqp.Config{
		Heartbeat: heartbeat, Dial: amqp.DefaultDial(dialWithin), Properties: amqp.Table{"product": "cleave"},
	})
	if err != nil {
		return fmt.Errorf("connect to rabbitmq: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() }) // unblocks work
	defer stop()
	err = work(connection)
	if closeErr := connection.Close(); !errors.Is(closeErr, amqp.ErrClosed) {
		err = errors.Join(err, closeErr)
	}
	return err
}

// sweepAlone waits until no other connection sweeps. Two sweeps would hide notes from each other, because
// a note that was read is out of the registry until it is settled. The lock is an exclusive queue, which
// disappears with its connection.
func sweepAlone(ctx context.Context, connection *amqp.Connection) error {
	for {
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		_, err = channel.QueueDeclare(sweeping, false, false, true, false, amqp.Table{"x-queue-type": "classic"})
		if err == nil || ignore(err, amqp.ResourceLocked) != nil {
			return err
		}
		if pause(ctx, firstPause); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// sweep removes the queues and exchanges of the notes whose prefix matches, and these notes. It returns the
// number of other notes.
func sweep(channel *amqp.Channel, match func(prefix string) bool) (others int, err error) {
	var kept []amqp.Delivery
	for {
		m, found, err := channel.Get(registry, false)
		if err != nil {
			return 0, ignore(err, amqp.NotFound) // there is no registry
		}
		if !found {
			break
		}
		var n note
		if err := json.Unmarshal(m.Body, &n); err != nil || !n.isValid() || !match(n.Prefix) {
			kept = append(kept, m)
			continue
		}
		if err := n.remove(channel); err != nil {
			return 0, err
		}
		if err := m.Ack(false); err != nil {
			return 0, err
		}
	}
	for _, m := range kept {
		if err := m.Nack(false, true); err != nil {
			return 0, err
		}
	}
	return len(kept), nil
}

// isValid reports whether all names of a note have its prefix. A note is only a message,
// which other programs could write, too.
func (n note) isValid() bool {
	return strings.HasPrefix(n.Prefix, root) && !slices.ContainsFunc(append([]string{n.Exchange}, n.Queues...),
		func(name string) bool {
			return !strings.HasPrefix(name, n.Prefix)
		})
}

// remove deletes the queues and the exchange of a note, if they exist.
func (n note) remove(channel *amqp.Channel) error {
	for _, queue := range n.Queues {
		if _, err := channel.QueueDelete(queue, false, false, false); err != nil {
			return fmt.Errorf("delete queue %s: %w", queue, err)
		}
	}
	if err := channel.ExchangeDelete(n.Exchange, false, false); err != nil {
		return fmt.Errorf("delete exchange %s: %w", n.Exchange, err)
	}
	return nil
}

// ignore returns err, or nil if err is the broker's answer with that code.
func ignore(err error, code int) error {
	if refused, is := errors.AsType[*amqp.Error](err); is && refused.Code == code {
		return nil
	}
	return err
}
