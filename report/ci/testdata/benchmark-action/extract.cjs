// The reader of github-action-benchmark v1.22.0 (src/extract.ts at c38cce98, MIT licence, see LICENSE.txt), without
// types: what it reads for the tools customSmallerIsBetter and customBiggerIsBetter. It prints the file that it is
// given as it has read it.
const fs = require('fs');
const { z } = require('zod');

const BenchmarkResult = z.object({
    name: z.coerce.string(),
    value: z.coerce.number(),
    range: z.coerce.string().optional(),
    unit: z.coerce.string(),
    extra: z.coerce.string().optional(),
});

const BenchmarkResults = z.array(BenchmarkResult);

function extractCustomBenchmarkResult(output) {
    try {
        return BenchmarkResults.parse(JSON.parse(output));
    } catch (err) {
        const errMessage = err instanceof Error ? err.message : String(err);
        throw new Error(
            `Output file for 'custom-(bigger|smaller)-is-better' must be JSON file containing an array of entries in BenchmarkResult format: ${errMessage}`,
        );
    }
}

const output = fs.readFileSync(process.argv[2], 'utf8');
const benches = extractCustomBenchmarkResult(output);
if (benches.length === 0) {
    throw new Error(`No benchmark result was found in ${process.argv[2]}. Benchmark output was '${output}'`);
}
console.log(JSON.stringify(benches));
