package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/net/websocket"

	"github.com/cleave-lab/cleave/bounded"
)

// Channels of a command that runs in a container: the first byte of every message. The last message is the
// status of the command, an object of Kubernetes.
const (
	outputChannel = 1
	stderrChannel = 2
	statusChannel = 3
)

// Exec runs a command in a container of a pod and returns what the command prints, errors included. Of a long
// output it returns only the end, and says how much is missing. It fails if the exit status of the command is
// not 0. After the end of ctx the command may go on.
//
// Source: the subresource exec of pods, with the same subprotocol as Forward.
func (c *Client) Exec(
	ctx context.Context, namespace, pod, container string, command ...string,
) (printed string, err error) {
	query := url.Values{"container": {container}, "command": command, "stdout": {"true"}, "stderr": {"true"}}
	connection, err := c.upgrade(ctx, "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/exec?"+query.Encode())
	if err != nil {
		return "", fmt.Errorf("run a command in the pod %s: %w", pod, err)
	}
	defer func() { _ = connection.Close() }() // it is only read
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	var output bounded.Tail // a container on a cluster of the user's may print without end
	for {
		var message []byte
		if err := websocket.Message.Receive(connection, &message); err != nil {
			return textOf(&output), fmt.Errorf("wait for a command in the pod %s: %w", pod,
				errors.Join(context.Cause(ctx), err))
		}
		if len(message) < 2 { // servers may open channels with empty messages
			continue
		}
		switch channel, data := message[0], message[1:]; channel {
		case outputChannel, stderrChannel:
			_, _ = output.Write(data) // it never fails
		case statusChannel:
			printed = textOf(&output)
			return printed, failureOf(data, printed)
		}
	}
}

// textOf returns the end of an output, and says how many bytes are missing before it.
func textOf(output *bounded.Tail) string {
	text, missing := output.End()
	if missing > 0 {
		return fmt.Sprintf("[%d bytes before this are left out] %s", missing, text)
	}
	return text
}

// failureOf returns the error in the status of a command that has printed a text, or nil if it succeeded.
func failureOf(status []byte, printed string) error {
	var how struct{ Status, Message string }
	if err := json.Unmarshal(status, &how); err != nil {
		return fmt.Errorf("read the status of a command: %w", err)
	}
	if how.Status == "Success" {
		return nil
	}
	return fmt.Errorf("%s: %s", how.Message, printed)
}
