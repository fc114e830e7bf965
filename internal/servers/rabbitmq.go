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

// QueueDepth is how many messages a queue of a broker holds.
type QueueDepth struct {
	Ready   int // not handed to a consumer
	Unacked int // handed out and not acknowledged
}

// depthsScript has the broker count. A quorum queue is asked through its log: the
// figures that it publishes are up to five seconds old.
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

// mostChanges is how often the broker is asked again, since a queue is being made or removed.
const mostChanges = 10

// QueueDepths asks the broker itself: AMQP clients cannot see what others have not
// acknowledged. It is asked by erl_call, which Erlang brings: rabbitmqctl would start another
// virtual machine, half a second of a processor. RabbitMQ only.
func (i *Instance) QueueDepths(ctx context.Context) (map[string]QueueDepth, error) {
	if i.Kind != server.RabbitMQ {
		return nil, fmt.Errorf("depths of all queues: %s has no queues of that kind", i.Kind)
	}
	lines, is := "", false
	for attempt := 0; !is; attempt++ {
		command := exec.CommandContext(ctx, "erl_call", "-n", server.RabbitNode, "-fetch_stdout", "-e")
		command.Env, command.Stdin = i.environment(), strings.NewReader(depthsScript)
		answer, err := command.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return nil, fmt.Errorf("depths of all queues: %w", err)
		}
		lines, is = strings.CutSuffix(string(answer), "{ok, done}")
		if changes := strings.Contains(string(answer), "noproc"); !is && (!changes || attempt == mostChanges) {
			return nil, fmt.Errorf("depths of all queues: the broker answers %q", answer)
		}
	}
	depths := map[string]QueueDepth{}
	for line := range strings.Lines(lines) {
		var name string
		var depth QueueDepth
		if _, err := fmt.Sscanf(line, "%s %d %d", &name, &depth.Ready, &depth.Unacked); err != nil {
			return nil, fmt.Errorf("depths of all queues: what is %q in the broker's answer?", line)
		}
		depths[name] = depth
	}
	return depths, nil
}

// environment returns the environment of the server, for a tool of its own.
func (i *Instance) environment() []string {
	unit, endpoints := i.Unit(i.name), map[string]lab.Endpoint{}
	for _, port := range unit.Ports {
		address := i.address(port)
		endpoints[lab.PortOf(i.name, port)] = lab.Endpoint{Bind: address, Dial: address}
	}
	return fleet.Environment(unit, "", i.dir, endpoints)
}
