import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

// The licences of what is bundled travel with every copy of it. Most modules of d3 have the text of d3. The
// texts of d3-geo and d3-scale-chromatic also have the notices of GeographicLib and ColorBrewer.
// dist/licences.md, for make dist, lists each package by its version.
const licences = ["@observablehq/plot", "d3", "d3-geo", "d3-scale-chromatic", "d3-shape", "isoformat"].map(
  (name) => `${name}\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`,
);

// Two classic scripts: reports inline theirs and allow it by its hash; the other (--mode serve) is that of
// `cleave serve`.
export default defineConfig(({ mode }) => ({
  build: {
    outDir: "dist",
    emptyOutDir: false, // dist/README.md is committed: the embed needs the folder
    target: "es2022",
    reportCompressedSize: false,
    rolldownOptions: { output: { postBanner: `/*!\n${licences.join("\n")}*/` } },
    ...(mode === "serve"
      ? { lib: { entry: "src/serve.ts", name: "cleaveServe", formats: ["iife"], fileName: () => "serve.js" } }
      : {
          license: { fileName: "licences.md" },
          lib: { entry: "src/main.ts", name: "cleaveReport", formats: ["iife"], fileName: () => "report.js" },
        }),
  },
  // A busy machine may take long for a test that counts to a thousand.
  test: { environment: "happy-dom", include: ["src/**/*.test.ts"], testTimeout: 60_000 },
}));
