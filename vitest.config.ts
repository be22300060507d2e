import { defineConfig } from "vitest/config";

// One worker per core of the smallest machine we promise (2 cores): process tests start real
// daemons, and more of them at once would only measure each other's noise.
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    maxWorkers: 2,
    // A test that means a state directory names one of its own.
    env: { EVENKEEL_STATE_DIR: "none" },
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
