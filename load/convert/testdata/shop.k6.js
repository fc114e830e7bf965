import http from "k6/http";
import { check, group, sleep } from "k6";
import { Trend } from "k6/metrics";
import { SharedArray } from "k6/data";
import { randomIntBetween, uuidv4 } from "https://jslib.k6.io/k6-utils/1.4.0/index.js";

const users = new SharedArray("users", () => open("./customers.csv").split("\n").map((line) => line.split(";")[0]));
const waiting = new Trend("waiting");
const base = __ENV.BASE_URL || "http://127.0.0.1:8080";

export const options = {
  stages: [
    { duration: "10s", target: 20 },
    { duration: "1m", target: 20 },
    { duration: "5s", target: 0 },
  ],
  thresholds: { http_req_duration: ["p(95)<500"], http_req_failed: ["rate<0.01"] },
};

export function setup() {
  const answer = http.post(`${base}/login`, { name: "Ada Berg", pass: __ENV.PASSWORD });
  return { token: answer.json("session.token") };
}

export default function (data) {
  const params = { headers: { Authorization: `Bearer ${data.token}` } };
  group("browse", () => {
    const list = http.get(`${base}/products?q=green tea`, params);
    check(list, { "is 200": (r) => r.status === 200, "has tea": (r) => r.body.includes("tea"), fast: (r) => r.timings.duration < 200 });
    waiting.add(list.timings.waiting);
    sleep(randomIntBetween(1, 3));
    http.get(`${base}/products/${list.json().items[0].id}`, Object.assign({ tags: { name: "product" } }, params));
  });
  const order = http.post(`${base}/orders`, JSON.stringify({ key: uuidv4(), user: users[0], amount: 2 }), {
    headers: { "Content-Type": "application/json", ...params.headers },
  });
  check(order, { created: (r) => r.status >= 200 && r.status < 300 });
  http.get(base + order.headers.Location, params);
  http.batch([["GET", `${base}/a`], ["GET", "https://cdn.example.org/b.js"]]);
  sleep(1);
}
