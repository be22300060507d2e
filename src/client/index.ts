/** The library: place sandboxes through a scheduler from a program of your own. */
export { CreateFailed, CreateRefused, PlacementError, type PlacementErrorCode } from "./errors.ts";
export {
  type Create,
  type CreateContext,
  type Placed,
  PlaceError,
  type PlaceErrorCode,
  type PlaceOptions,
  type PlaceRequest,
  type Refusal,
} from "./place.ts";
export {
  type CallOptions,
  type ConfirmOptions,
  type NodeAddress,
  PlacementClient,
  type PlacementClientOptions,
  type Reservation,
  type ScheduleAnswer,
  type ScheduleRequest,
} from "./placement-client.ts";
export type { ClientTls } from "./transport.ts";
