package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/websocket"
)

// Channels of a forwarded port: the first byte of every message. The first message of the server on each
// channel is the port, as two bytes.
const (
	dataChannel  = 0
	errorChannel = 1
)

// Forward connects to a port of a pod through the server. If nothing listens there, the first Read fails.
//
// Source: the subresource portforward of pods with the subprotocol v4.channel.k8s.io, over
// WebSocket (RFC 6455), which servers of all versions in use speak.
func (c *Client) Forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	path := "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/portforward?ports=" + strconv.Itoa(port)
	connection, err := c.upgrade(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("reach port %d of the pod %s: %w", port, pod, err)
	}
	connection.PayloadType = websocket.BinaryFrame
	return &forwarded{Conn: connection, pod: pod, port: port}, nil
}

// upgrade returns a WebSocket connection to a path of the server, for messages on channels.
func (c *Client) upgrade(ctx context.Context, path string) (*websocket.Conn, error) {
	config, err := websocket.NewConfig("wss"+strings.TrimPrefix(c.address, "https")+path, c.address)
	if err != nil {
		return nil, err
	}
	config.Protocol = []string{"v4.channel.k8s.io"}
	config.TlsConfig = c.trust.Clone()
	config.TlsConfig.NextProtos = []string{"http/1.1"} // HTTP/2 connections cannot be upgraded
	config.Header = http.Header{}
	if err := c.authorize(ctx, config.Header); err != nil {
		return nil, err
	}
	connection, err := config.DialContext(ctx)
	if err != nil {
		// The WebSocket client drops the server's message. A request without an upgrade gets the same message, or
		// status 400 if only the upgrade is missing.
		if body, refused := c.ask(ctx, http.MethodGet, path, nil); refused == nil {
			_ = body.Close() // servers do not do this
		} else if !isRefused(refused, http.StatusBadRequest) {
			err = refused
		}
		return nil, err
	}
	return connection, nil
}

// forwarded is a connection to a port of a pod. One goroutine may read it while another one writes.
type forwarded struct {
	*websocket.Conn
	pod   string
	port  int
	begun [2]bool // by channel: its first message, the port, was read
	rest  []byte  // of the last message, not read yet
}

// Read implements io.Reader.
func (f *forwarded) Read(into []byte) (int, error) {
	for len(f.rest) == 0 {
		var message []byte
		if err := websocket.Message.Receive(f.Conn, &message); err != nil {
			return 0, err
		}
		if len(message) == 0 || message[0] > errorChannel {
			return 0, fmt.Errorf("the server forwards the message %x, which is of no channel", message)
		}
		channel, data := message[0], message[1:]
		if !f.begun[channel] {
			if len(data) < 2 || int(binary.LittleEndian.Uint16(data)) != f.port {
				return 0, fmt.Errorf("the server forwards another port than %d: %x", f.port, data)
			}
			f.begun[channel] = true
			data = data[2:]
		}
		if channel == errorChannel && len(data) > 0 {
			return 0, fmt.Errorf("port %d of the pod %s: %s", f.port, f.pod, strings.TrimSpace(string(data)))
		}
		if channel == dataChannel {
			f.rest = data
		}
	}
	n := copy(into, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Write implements io.Writer.
func (f *forwarded) Write(data []byte) (int, error) {
	const maxMessage = 32 << 10
	for sent := 0; sent < len(data); {
		piece := data[sent:min(len(data), sent+maxMessage)]
		if err := websocket.Message.Send(f.Conn, append([]byte{dataChannel}, piece...)); err != nil {
			return sent, err
		}
		sent += len(piece)
	}
	return len(data), nil
}
