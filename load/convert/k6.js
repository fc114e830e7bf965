// What k6 offers to scripts, as far as a scenario needs it: requests are written down and not sent, and what a
// script takes from an answer is a reference, which the conversion turns into an extraction.
"use strict";
(function () {
	const state = { requests: [], values: [], notes: [], group: "" };
	const note = (what, why) => state.notes.push({ what: String(what), why });
	let references = 0;

	// draw returns what stands for a value that the scenario generates. As a number it is its mean.
	function draw(kind, from, to) {
		const name = "\ue000draw" + ++references + "\ue001";
		state.values.push({ name, kind, from, to });
		return { toString: () => name, toJSON: () => name, [Symbol.toPrimitive]: (hint) => (hint === "number" ? (from + to) / 2 : name) };
	}

	// ofList does what a function of lists does to a list of an answer, which is taken for one of one item.
	const lists = ["forEach", "map", "filter", "slice", "find"];
	function ofList(first, what, key, f) {
		note(what, "the first item is taken");
		if (key === "find") return first;
		return key === "forEach" || key === "map" ? [f(first, 0)] : [first];
	}

	const whole = Symbol("the request whose whole answer this is");
	const parse = JSON.parse;
	JSON.parse = (text, ...more) => (text && text[whole] ? part(text[whole], "json", "") : parse(text, ...more));

	// see notes a text that a script looks for in a part of an answer.
	function see(request, kind, path, wanted) {
		if (["body", "json", "header"].includes(kind)) request.seen.push({ header: kind === "header" ? path : "", text: String(wanted) });
	}

	// part returns what stands for a part of an answer: its text is a reference to it.
	function part(request, kind, path) {
		const text = () => {
			const known = request.takes.find((take) => take.kind === kind && take.path === path);
			if (known) return known.name;
			const name = "\ue000take" + ++references + "\ue001";
			request.takes.push({ name, kind, path });
			return name;
		};
		return new Proxy(() => {}, {
			get(_, key) {
				if (key === Symbol.toPrimitive || key === "toString" || key === "toJSON" || key === "valueOf") return text;
				if (key === "includes") return (wanted) => (see(request, kind, path, wanted), true);
				if (key === "indexOf" || key === "search") return (wanted) => (see(request, kind, path, wanted), 0);
				if (key === "length") return 1;
				if (key === whole) return kind === "body" && path === "" ? request : undefined;
				if (kind === "json" && lists.includes(key)) return (f) => ofList(part(request, kind, path === "" ? "0" : path + ".0"), path + "." + key, key, f);
				if (typeof key === "symbol") return undefined;
				return part(request, kind, path === "" ? key : path + "." + key);
			},
			has: () => true,
			apply() {
				note(path + "()", "computed from an answer, of which only whole values are taken");
				return "";
			},
		});
	}

	function form(body) {
		if (body === null || body === undefined) return "";
		if (typeof body !== "object") return String(body);
		return Object.entries(body).map(([k, v]) => encodeURIComponent(k) + "=" + encodeURIComponent(String(v))).join("&");
	}

	function send(method, url, body, params) {
		params = params || {};
		const isForm = body !== null && typeof body === "object" && !(body instanceof String);
		const request = {
			method: String(method).toUpperCase(), url: String(url), body: form(body), form: isForm, group: state.group,
			name: params.tags && params.tags.name ? String(params.tags.name) : "", headers: [], cookies: Object.keys(params.cookies || {}),
			files: isForm && Object.values(body).some((v) => v && v.isFile), takes: [], seen: [], statuses: null, texts: [], sleep: 0,
		};
		for (const [name, value] of Object.entries(params.headers || {})) request.headers.push([name, String(value)]);
		if (params.auth) note("auth " + params.auth, "add its header to the step");
		state.requests.push(request);
		if (state.requests.length > 2000) throw new Error("more than 2000 requests in one iteration");
		return {
			status: 200, request, body: part(request, "body", ""), headers: part(request, "header", ""), cookies: part(request, "cookie", ""),
			json: (path) => part(request, "json", path === undefined ? "" : String(path)),
			html: () => part(request, "html", ""), url: request.url, error: "", error_code: 0, status_text: "200 OK",
			timings: { duration: 1, waiting: 1, connecting: 1, blocked: 1, sending: 1, receiving: 1, tls_handshaking: 1 },
			submitForm() { note("submitForm", "the form of a page is not known beforehand: write its request as a step"); return this; },
			clickLink() { note("clickLink", "the links of a page are not known beforehand: write the request as a step"); return this; },
		};
	}

	const http = { request: send, asyncRequest: async (...all) => send(...all), expectedStatuses: () => 0, setResponseCallback() {},
		file: (data, name) => ({ isFile: true, data, name }), url: (parts, ...values) => parts.reduce((text, p, i) => text + String(values[i - 1]) + p),
		cookieJar: () => ({ set: (_, name) => note("cookie " + name, "add a header Cookie"), cookiesForURL: () => ({}), clear() {}, delete() {} }) };
	for (const method of ["get", "head"]) http[method] = (url, params) => send(method, url, null, params);
	for (const method of ["post", "put", "patch", "options"]) http[method] = (url, body, params) => send(method, url, body, params);
	http.del = (url, body, params) => send("delete", url, body, params);
	http.batch = (all) => {
		note("batch", "the steps of a flow follow each other; its requests are there");
		const one = (r) => (typeof r === "string" ? send("get", r) : Array.isArray(r) ? send(...r) : send(r.method, r.url, r.body, r.params));
		return Array.isArray(all) ? all.map(one) : Object.fromEntries(Object.entries(all).map(([k, r]) => [k, one(r)]));
	};

	// check asks a condition about answers of all usual statuses: those that pass are what it expects.
	function check(answer, conditions) {
		const request = answer && answer.request;
		for (const [name, condition] of Object.entries(conditions || {})) {
			const all = [200, 201, 202, 204, 206, 301, 302, 303, 307, 308, 400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503];
			if (!request) { note("check " + name, "it is not about an answer"); continue; }
			request.seen = [];
			const passing = all.filter((status) => {
				answer.status = status;
				try { return !!(typeof condition === "function" ? condition(answer) : condition); } catch (_) { return false; }
			});
			answer.status = 200;
			if (passing.length > 0 && passing.length < all.length) {
				request.statuses = request.statuses ? request.statuses.filter((s) => passing.includes(s)) : passing;
			}
			if (passing.length > 0) request.texts.push(...request.seen);
			if (request.seen.length === 0 && (passing.length === 0 || passing.length === all.length)) {
				note("check " + name, "only statuses, and texts of the body and of headers, are expected: add expect to the step");
			}
		}
		return true;
	}

	class Metric { add() {} }
	for (const [name, value] of [["__VU", 1], ["__ITER", 0]]) {
		Object.defineProperty(globalThis, name, { get() { note(name, "a flow does not know its user or its number: taken from one run"); return value; } });
	}
	globalThis.__ENV = new Proxy({}, { get(_, key) {
		if (typeof key === "symbol") return undefined;
		if (/^[A-Za-z_]\w*$/.test(key) && /token|key|secret|pass|auth|credential/i.test(key)) {
			note("__ENV." + key, "set the variable " + key + " of the environment when you play the scenario");
			return "\ue000env:" + key + "\ue001";
		}
		note("__ENV." + key, "not set when a script is converted");
		return undefined;
	} });
	globalThis.console = { log() {}, info() {}, warn() {}, error() {}, debug() {} };
	globalThis.k6 = {
		state, http, check, Metric, draw, note,
		sleep(seconds) {
			const last = state.requests[state.requests.length - 1];
			if (last) last.sleep += Number(seconds) || 0;
			else note("a pause before the first request", "a flow begins with its first request");
		},
		group(name, f) { const before = state.group; state.group = String(name); try { return f(); } finally { state.group = before; } },
		fail(text) { throw new Error("fail: " + text); },
	};
})();
