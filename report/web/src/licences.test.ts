import { expect, it } from "vitest";
import config from "../vite.config";

it("has the notices of all authors in the banner of the scripts", async () => {
  const built = await config({ command: "build", mode: "production" });
  const banner = JSON.stringify(built.build?.rolldownOptions?.output);
  for (const author of ["Observable, Inc.", "Mike Bostock", "Charles Karney", "Cynthia Brewer", "isoformat"])
    expect(banner).toContain(author);
});
