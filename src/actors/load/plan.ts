/** What a load run does, request by request, all of it drawn from one seed. Plain data: every thread has a copy. */
import { seededRandom } from "../../ports/random.ts";

/** What becomes of a reservation: abandoned ones are left to their lease, as a caller does that dies. */
export type Fate = "confirm" | "cancel" | "abandon";

export interface LoadPlan {
  readonly seed: number;
  /** Begins the name of every node, sandbox and request of this run, so that no two runs can be mistaken. */
  readonly prefix: string;
  readonly requests: number;
  readonly cpuCount: number;
  readonly memoryMib: number;
  /** How often each fate occurs, relative to the others. */
  readonly weights: Readonly<Record<Fate, number>>;
  /** Which part of the requests is sent twice at the same instant, under one request id: 0 to 1. */
  readonly repeatShare: number;
  /** Where the scheduler is killed now and then; null where it is not. */
  readonly patience: Patience | null;
}

/** How clients behave towards a scheduler that dies under them. */
export interface Patience {
  /** How often a call is sent until its answer is clear. */
  readonly triesMax: number;
  /** Between two of them, at most. */
  readonly longestPauseMs: number;
  /** Between two requests of one client: the load lasts as long as the kills do. */
  readonly restMs: number;
}

export interface Intention {
  readonly number: number;
  readonly requestId: string;
  readonly sandboxId: string;
  readonly fate: Fate;
  readonly repeats: boolean;
  /** Whether the node already shows the sandbox when its confirm leaves; otherwise it does once that was answered. */
  readonly shownFirst: boolean;
}

// Spreads neighbouring numbers over the seeds (2^32 divided by the golden ratio).
const SEED_STEP = 0x9e3779b1;

/** What request `number`, from 0, is meant to do: the same whichever thread sends it, and when. */
export function intentionOf(plan: LoadPlan, number: number): Intention {
  const random = seededRandom(plan.seed + Math.imul(number + 1, SEED_STEP));
  return {
    number,
    requestId: `${plan.prefix}-request-${number}`,
    sandboxId: `${plan.prefix}-sandbox-${number}`,
    fate: drawFate(plan.weights, random.fraction()),
    repeats: random.fraction() < plan.repeatShare,
    shownFirst: random.fraction() < 0.5,
  };
}

function drawFate({ confirm, cancel, abandon }: LoadPlan["weights"], fraction: number): Fate {
  const point = fraction * (confirm + cancel + abandon);
  if (point < confirm) return "confirm";
  return point < confirm + cancel ? "cancel" : "abandon";
}
