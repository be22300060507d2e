/** Each message to the handler that is named after it; nothing is decided here. */
import type { PlacementMessage, ReplyTo } from "../../messages/placement.ts";
import type { Instant, Outcome } from "./events.ts";
import type { Placement } from "./state.ts";

export function dispatch(
  placement: Placement,
  message: PlacementMessage,
  now: Instant,
): Outcome<ReplyTo<PlacementMessage["type"]>> {
  switch (message.type) {
    case "schedule":
      return placement.onSchedule(message, now);
    case "confirm":
      return placement.onConfirm(message, now);
    case "cancel":
      return placement.onCancel(message, now);
    case "renew":
      return placement.onRenew(message, now);
    case "uncertain":
      return placement.onUncertain(message, now);
    case "get_reservation":
      return placement.onGetReservation(message, now);
    case "list_reservations":
      return placement.onListReservations(message, now);
    case "release_sandbox":
      return placement.onReleaseSandbox(message, now);
    case "heartbeat":
      return placement.onHeartbeat(message, now);
    case "sandbox_events":
      return placement.onSandboxEvents(message, now);
    case "record_assignment":
      return placement.onRecordAssignment(message, now);
    case "cordon":
      return placement.onCordon(message, now);
    case "uncordon":
      return placement.onUncordon(message, now);
    case "clear_condition":
      return placement.onClearCondition(message, now);
    case "unregister":
      return placement.onUnregister(message, now);
    case "get_node":
      return placement.onGetNode(message, now);
    case "list_nodes":
      return placement.onListNodes(now);
    case "delivery_failed":
      return placement.onDeliveryFailed(message, now);
    case "tick":
      return placement.onTick(now);
    default:
      return message satisfies never;
  }
}
