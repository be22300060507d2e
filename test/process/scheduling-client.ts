/**
 * One of several client processes: sends `count` concurrent schedule requests when told to go, and prints what it was
 * answered as one JSON line. Arguments: URL, count. Standard input: one byte, so that all start at a time.
 */
const [, , url = "", countText = "0"] = process.argv;

process.stdout.write("ready\n");
for await (const _ of process.stdin) break;

const answers = await Promise.all(
  Array.from({ length: Number(countText) }, async () => {
    const response = await fetch(`${url}/v1/schedule`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ hint: { new_cold_sandbox: { cpu_count: 2, memory_mb: 4096 } } }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  }),
);
// Idle keep-alive connections would hold the process for seconds; what is written must be read first.
process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
