/** The certificate that both servers show, and whose clients' certificates they take; exchanged while they run. */
import { createSecureContext, type SecureContextOptions, type TlsOptions } from "node:tls";
import { HANDSHAKE_WITHIN_MS } from "./bounds.ts";

/** In PEM. */
export interface TlsMaterial {
  /** The server's certificate, and those between it and its authority. */
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Authorities of clients' certificates; null: clients need none. */
  readonly clientCa: Buffer | null;
}

export class Tls {
  #context: SecureContextOptions;
  #material: TlsMaterial;
  readonly #followers: ((context: SecureContextOptions) => void)[] = [];
  /** Whether clients must show a certificate: fixed when a server is made. */
  readonly asksClients: boolean;

  /** Throws what is wrong with the material, such as a key of another certificate. */
  constructor(material: TlsMaterial) {
    this.#context = contextOf(material);
    this.#material = material;
    this.asksClients = material.clientCa !== null;
  }

  /** For connections from now on. Throws what is wrong with it; what held before then goes on to hold. */
  use(material: TlsMaterial): void {
    this.#context = contextOf(material);
    this.#material = material;
    for (const follow of this.#followers) follow(this.#context);
  }

  get material(): TlsMaterial {
    return this.#material;
  }

  get context(): SecureContextOptions {
    return this.#context;
  }

  /** What a server is made with, beside the context. */
  get serverOptions(): TlsOptions {
    return { requestCert: this.asksClients, rejectUnauthorized: true, handshakeTimeout: HANDSHAKE_WITHIN_MS };
  }

  /** Calls `follow` with each context that takes the place of the present one. */
  onChange(follow: (context: SecureContextOptions) => void): void {
    this.#followers.push(follow);
  }
}

function contextOf({ cert, key, clientCa }: TlsMaterial): SecureContextOptions {
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: "TLSv1.2",
    ...(clientCa === null ? {} : { ca: clientCa }),
  };
  createSecureContext(options);
  return options;
}
