// The page of people: for every kind of records a form that creates a record, and one that
// fetches a record by its id. It uses the public interface only.
// The kinds repeat those of package people (Kind.Properties): change both together.

const kinds: Record<string, string[]> = {
  persons: ["firstName", "lastName"],
  addresses: ["street", "number", "postcode", "city", "country"],
  profiles: [
    "userName", "email", "phone", "birthday", "language",
    "occupation", "company", "website", "interests", "about",
  ],
};

/** ask sends a request and returns the answer; a failure throws the detail of the problem document. */
async function ask(method: string, path: string, body?: object): Promise<Record<string, string>> {
  const answer = await fetch(path, {
    method,
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  const reply = await answer.json();
  if (!answer.ok) throw new Error(reply.detail);
  return reply;
}

/** form returns a form with an input per label; its button shows what work returns for the inputs. */
function form(
  name: string,
  labels: string[],
  button: string,
  work: (inputs: Record<string, string>) => Promise<string>,
): HTMLFormElement {
  const made = document.createElement("form");
  made.id = name;
  for (const label of labels) {
    const attributes = { name: label, id: `${name}-${label}`, required: true };
    const input = Object.assign(document.createElement("input"), attributes);
    const caption = Object.assign(document.createElement("label"), { textContent: label, htmlFor: input.id });
    made.append(caption, input);
  }
  const shown = document.createElement("output");
  made.append(Object.assign(document.createElement("button"), { textContent: button }), shown);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      shown.textContent = await work(Object.fromEntries(new FormData(made)) as Record<string, string>);
      shown.className = "done";
    } catch (failure) {
      shown.textContent = (failure as Error).message;
      shown.className = "failed";
    }
  });
  return made;
}

for (const [kind, properties] of Object.entries(kinds)) {
  const heading = Object.assign(document.createElement("h2"), { textContent: kind });
  const create = form(`create-${kind}`, properties, "Create", async (record) => {
    const created = await ask("POST", `/${kind}`, record);
    return created["id"] ?? "";
  });
  const fetching = form(`fetch-${kind}`, ["id"], "Fetch", async (inputs) => {
    const record = await ask("GET", `/${kind}/${encodeURIComponent(inputs["id"] ?? "")}`);
    return properties.map((property) => `${property}: ${record[property]}`).join("\n");
  });
  document.querySelector("main")?.append(heading, create, fetching);
}
