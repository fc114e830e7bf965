"""A stand-in for Consul in the hotel reservation: services register, and ask for the addresses of others."""

import http.server, json, re, threading, urllib.parse

services, changed, index = {}, threading.Condition(), 1


class Agent(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        global index
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        with changed:
            if self.path.startswith("/v1/agent/service/deregister/"):
                services.pop(self.path.rsplit("/", 1)[1], None)
            else:
                services[body["ID"]] = body
            index += 1
            changed.notify_all()
        self.answer({})

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        name = url.path.rsplit("/", 1)[1]
        # A query with an index is answered when the index has passed it, or after wait. The unit of wait is
        # ignored: its number counts as seconds.
        wait = re.match(r"\d+", asked.get("wait", "300"))
        with changed:
            changed.wait_for(lambda: index > int(asked.get("index", 0)), int(wait[0]))
            self.answer([
                {"Node": {"Node": "one", "Address": s["Address"]}, "Checks": [],
                 "Service": {"ID": s["ID"], "Service": name, "Address": s["Address"], "Port": s["Port"]}}
                for s in services.values() if s["Name"] == name
            ])

    def answer(self, content):
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("X-Consul-Index", str(index))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("", 8500), Agent).serve_forever()
