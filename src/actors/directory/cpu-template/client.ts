/** All that others use of the CPU-template actor. */
import type { Reference } from "../../kernel/reference.ts";
import type { NodeGone } from "../departures.ts";

export interface TemplateHeartbeat {
  readonly nodeId: string;
  readonly clusterId: string;
  /** Empty: not in this heartbeat. */
  readonly cpuConfigJson: string;
}

/** A heartbeat that counted, as far as CPU templates are concerned. */
export interface TemplateReported {
  readonly type: "template_reported";
  readonly heartbeat: TemplateHeartbeat;
}

export type TemplatesMessage = TemplateReported | NodeGone;

export type TemplatesReplies = { template_reported: { readonly cpuConfigJson: string } };

export type TemplatesReference = Reference<TemplatesMessage, TemplatesReplies>;
