/** placement.md, 5.4, first bullet: what an event says to the reservations of its node. */
import type { SandboxEvent, SandboxEvents } from "../../../../src/messages/nodes.ts";
import { type Amounts, DIMENSIONS, isFresh, type ModelNode, type ModelReservation, type ModelState } from "./facts.ts";
import { bind, sandboxDeleted } from "./lifecycle.ts";

export function takeEvents(state: ModelState, message: SandboxEvents, nowMs: number): void {
  const node = state.nodes.get(message.nodeId);
  if (node === undefined || node.unregistered !== null) return;
  // "A superseded instance is ignored while the newer one is fresh."
  if (node.supersededRuntimes.has(message.serviceInstanceId) && isFresh(state, node.runtime, nowMs)) return;
  for (const event of message.events) takeEvent(state, node, event, nowMs);
}

function takeEvent(state: ModelState, node: ModelNode, event: SandboxEvent, nowMs: number): void {
  if (event.eventType === "CREATE") bindByCreate(state, node, event, nowMs);
  if (event.eventType === "DELETE") sandboxDeleted(state, event.sandboxId);
  if (event.eventType === "FORK") state.forked.add(event.sandboxId);
}

function bindByCreate(state: ModelState, node: ModelNode, event: SandboxEvent, nowMs: number): void {
  const { sandboxId } = event;
  const shape = { cpu: event.requestedCpuMillicores, memory: event.requestedMemoryBytes };
  const wasBound = state.inferred.has(sandboxId) || state.reservations.some((one) => one.sandboxId === sandboxId);
  if (wasBound || state.deleted.has(sandboxId) || state.forked.has(sandboxId)) return;
  const listedAt = node.firstListed.get(sandboxId) ?? Number.POSITIVE_INFINITY;
  const eligible = state.reservations.filter(
    (one) =>
      one.nodeId === node.nodeId &&
      one.state === "pending" &&
      (!one.managed || one.uncertain) &&
      // "that a roster listed before the reservation was made … binds nothing."
      listedAt > one.madeAt &&
      DIMENSIONS.every((dimension) => one.size[dimension] === null || one.size[dimension] === shape[dimension]),
  );
  // "An exact shape goes before one with an unknown dimension"; the oldest of each first.
  const bound = eligible.find((one) => isExact(one, shape)) ?? eligible[0];
  if (bound === undefined) return;
  // "an unknown dimension matches any and is filled in."
  bound.size = shape;
  bound.charge = shape;
  bind(state, bound, { sandboxId, nowMs, late: false, provisional: true });
}

function isExact(reservation: ModelReservation, shape: Amounts): boolean {
  return DIMENSIONS.every((dimension) => reservation.size[dimension] === shape[dimension]);
}
