import { textNamed } from "../messages/settings.ts";
import type { Values } from "./options.ts";

const path = (key: string, help: string) =>
  ({ key, value: "FILE", help, schema: textNamed("a path").nullable().default(null) }) as const;

/** What a caller of a scheduler shows, and whom it trusts. */
export const CREDENTIAL_SETTINGS = {
  tokenFile: path("token_file", "file that holds the token to send to the scheduler; re-read when it changes"),
  ca: path("ca", "authorities that the scheduler's certificate is verified by, PEM; without it those of Node"),
  clientCert: path("client_cert", "certificate to show to the scheduler, PEM"),
  clientKey: path("client_key", "its private key, PEM"),
} as const;

export type CredentialSettings = Values<typeof CREDENTIAL_SETTINGS>;
