package engine

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// parse feeds an answer in pieces of a size and ends the connection after it.
func parse(text string, size int, head bool) (*response, error) {
	r := new(response)
	r.begin(head, true)
	for data := []byte(text); len(data) > 0; {
		piece := data[:min(size, len(data))]
		data = data[len(piece):]
		n, err := r.feed(piece)
		if err != nil {
			return r, err
		}
		if n < len(piece) {
			return r, errors.New("bytes are left")
		}
	}
	if !r.end() {
		return r, errors.New("unfinished")
	}
	return r, nil
}

func TestAnswersAreReadWhateverTheirPieces(t *testing.T) {
	cases := []struct {
		name, text string
		status     int
		body       string
		last       bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
		{"no reason", "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, "", false},
		{"bare line feeds", "HTTP/1.1 404 Not Found\nContent-Length: 2\n\nno", 404, "no", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", 200, "hello", false},
		{"chunks with trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", 200, "0123456789", false},
		{"chunks and length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, "a", true},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", true},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", 200, "a", true},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", true},
		{"HTTP/1.0 that stays", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 200, "a", false},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, "", false},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na", 201, "a", false},
		{"same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 200, "a", false},
	}
	for _, c := range cases {
		for size := 1; size <= len(c.text); size++ {
			r, err := parse(c.text, size, false)
			if err != nil || r.status != c.status || string(r.body) != c.body || r.last != c.last {
				t.Errorf("%s, in pieces of %d: status %d, body %q, last %v, error %v", c.name, size, r.status, r.body, r.last, err)
				break
			}
		}
	}
	if r, err := parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 7, true); err != nil || len(r.body) != 0 {
		t.Errorf("answer to HEAD: body %q, error %v", r.body, err)
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name, text string
		want       error
	}{
		{"garbage", "\x00\x01\x02garbage and more\n", errMalformed},
		{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n", errMalformed},
		{"HTTP/2", "HTTP/2 200 OK\r\n", errMalformed},
		{"status with letters", "HTTP/1.1 2x0 OK\r\n", errMalformed},
		{"status out of range", "HTTP/1.1 999 OK\r\n", errMalformed},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n", errMalformed},
		{"header without colon", head + "nonsense\r\n\r\n", errMalformed},
		{"header without name", head + ": x\r\n\r\n", errMalformed},
		{"negative length", head + "Content-Length: -1\r\n\r\n", errMalformed},
		{"length with letters", head + "Content-Length: 0x10\r\n\r\n", errMalformed},
		{"empty length", head + "Content-Length: \r\n\r\n", errMalformed},
		{"overlong length", head + "Content-Length: 9999999999999999999\r\n\r\n", errMalformed},
		{"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", errMalformed},
		{"other coding", head + "Transfer-Encoding: gzip, chunked\r\n\r\n", errMalformed},
		{"chunk without length", head + "Transfer-Encoding: chunked\r\n\r\n\r\n", errMalformed},
		{"chunk with bad length", head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", errMalformed},
		{"overlong chunk", head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", errMalformed},
		{"chunk that goes on", head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", errMalformed},
		{"endless line", "HTTP/1.1 200 " + strings.Repeat("x", maxHead), errTooLarge},
		{"endless headers", head + strings.Repeat("A: b\r\n", maxHead/6), errTooLarge},
		{"endless continues", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHead/25+1), errTooLarge},
		{"endless chunk line", head + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", maxChunkLine), errTooLarge},
		{"endless trailers", head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHead/6+1), errTooLarge},
	}
	for _, c := range cases {
		for _, size := range []int{1, 1000, len(c.text)} {
			if _, err := parse(c.text, size, false); !errors.Is(err, c.want) {
				t.Errorf("%s, in pieces of %d: error %v, want %v", c.name, size, err, c.want)
			}
		}
	}
}

func TestLongBodiesAreKeptInPart(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("a", maxInspected+1)
	r, err := parse(text, 1<<16, false)
	if err != nil || len(r.body) != maxInspected || !r.truncated {
		t.Errorf("%d bytes are kept, truncated %v, error %v", len(r.body), r.truncated, err)
	}
}

// FuzzResponse holds what must be true of any bytes: no panic, bounded memory,
// and the same result however they are cut.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\nX: y\r\n\r\n"), 2)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nrest"), 7)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 {
			size = 1
		}
		whole, wholeTaken, wholeErr := feedAll(data, len(data)+1)
		cut, cutTaken, cutErr := feedAll(data, size)
		if wholeTaken > len(data) || len(whole.partial) > maxHead+maxChunkLine || len(whole.body) > maxInspected {
			t.Fatalf("took %d of %d bytes, keeps %d and %d", wholeTaken, len(data), len(whole.partial), len(whole.body))
		}
		if (wholeErr == nil) != (cutErr == nil) {
			t.Fatalf("error %v in one piece, %v in pieces of %d", wholeErr, cutErr, size)
		}
		if wholeErr != nil {
			return
		}
		if wholeTaken != cutTaken || whole.phase != cut.phase || whole.status != cut.status || !bytes.Equal(whole.body, cut.body) {
			t.Fatalf("pieces of %d change the answer: %+v and %+v", size, whole, cut)
		}
	})
}

// feedAll feeds pieces until the answer is complete.
func feedAll(data []byte, size int) (*response, int, error) {
	r := new(response)
	r.begin(false, true)
	taken := 0
	for taken < len(data) && r.phase != complete {
		n, err := r.feed(data[taken:min(taken+size, len(data))])
		taken += n
		if err != nil {
			return r, taken, err
		}
	}
	return r, taken, nil
}
