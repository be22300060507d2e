/** What the process says of itself. */
import { z } from "zod";

export const healthAnswerSchema = z.object({ status: z.literal("ok") });
export const readyAnswerSchema = z.object({ status: z.literal("ready") });
