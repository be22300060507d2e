/** The library: place sandboxes through a scheduler from a program of your own. */
export type {
  CallOptions,
  ConfirmOptions,
  NodeAddress,
  Reservation,
  ScheduleAnswer,
  ScheduleRequest,
} from "./calls.ts";
export type { Create, CreateContext } from "./create.ts";
export { CreateFailed, CreateRefused, PlacementError, type PlacementErrorCode } from "./errors.ts";
export type { Placed, PlaceOptions, PlaceRequest } from "./place.ts";
export { PlaceError, type PlaceErrorCode, type Refusal } from "./place-error.ts";
export { PlacementClient, type PlacementClientOptions } from "./placement-client.ts";
export type { ClientTls, Fetch, FetchAnswer, FetchInit } from "./transport.ts";
