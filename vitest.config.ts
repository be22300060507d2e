import { defineConfig } from "vitest/config";

// One worker per core of the smallest machine we promise (2 cores): process tests start real
// daemons, and more of them at once would only measure each other's noise.
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
