package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// QueueDepth holds the numbers of messages in a queue of a broker.
type QueueDepth struct {
	Ready   int // not delivered
	Unacked int // delivered and not acknowledged
}

// depthsScript is an Erlang script that counts the messages of all queues. It queries quorum queues
// consistently, through their Raft log, because their published figures are up to five seconds old.
const depthsScript = `[begin
  {resource, _, queue, Name} = amqqueue:get_name(Q),
  Count = fun(Query) -> {ok, Answer, _} = ra:consistent_query(amqqueue:get_pid(Q), Query), Answer end,
  {Ready, Unacked} = case amqqueue:get_type(Q) of
    rabbit_quorum_queue -> {Count(fun rabbit_fifo:query_messages_ready/1),
      Count(fun rabbit_fifo:query_messages_checked_out/1)};
    _ -> [{_, R}, {_, U}] = rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged]), {R, U}
  end,
  io:format("~s ~b ~b~n", [Name, Ready, Unacked])
end || Q <- rabbit_amqqueue:list()], done.
`

// maxRetries is the number of retries while a queue is being created or removed.
const maxRetries = 10

// QueueDepths returns the depths of all queues of a RabbitMQ, by name. AMQP clients cannot see the
// unacknowledged messages of others, so it runs a script in the broker. It uses erl_call, because rabbitmqctl
// would start another Erlang virtual machine, which takes half a second of CPU time.
func (i *Instance) QueueDepths(ctx context.Context) (map[string]QueueDepth, error) {
	if i.Kind != server.RabbitMQ {
		return nil, fmt.Errorf("depths of all queues: the server is %s, want %s", i.Kind, server.RabbitMQ)
	}
	lines, done := "", false
	for retries := 0; !done; retries++ {
		command := exec.CommandContext(ctx, "erl_call", "-n", server.RabbitNode, "-fetch_stdout", "-e")
		command.Env = i.environment()
		command.Stdin = strings.NewReader(depthsScript)
		answer, err := command.Output()
		if err != nil {
			if exit, is := errors.AsType[*exec.ExitError](err); is {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return nil, fmt.Errorf("depths of all queues: %w", err)
		}
		lines, done = strings.CutSuffix(string(answer), "{ok, done}")
		// A queue has no process while it is being created or removed.
		mayRetry := strings.Contains(string(answer), "noproc") && retries < maxRetries
		if !done && !mayRetry {
			return nil, fmt.Errorf("depths of all queues: the broker answers %q", answer)
		}
	}
	depths := map[string]QueueDepth{}
	for line := range strings.Lines(lines) {
		var name string
		var depth QueueDepth
		if _, err := fmt.Sscanf(line, "%s %d %d", &name, &depth.Ready, &depth.Unacked); err != nil {
			return nil, fmt.Errorf("depths of all queues: the broker answers %q, want QUEUE READY UNACKED: %w",
				line, err)
		}
		depths[name] = depth
	}
	return depths, nil
}

// environment returns the environment variables of the server, which its own command-line tools need, too.
func (i *Instance) environment() []string {
	unit := i.Unit(i.name)
	endpoints := map[string]lab.Endpoint{}
	for _, port := range unit.Ports {
		address := i.address(port)
		endpoints[lab.PortOf(i.name, port)] = lab.Endpoint{Bind: address, Dial: address}
	}
	const noLabel = "" // a label lets cleave clean find units, and a tool is none
	return fleet.Environment(unit, noLabel, i.dir, endpoints)
}
