/** X.509 certificates (RFC 5280) made on the spot, with nothing installed: DER by hand, keys and signatures by Node. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Certificate {
  /** A certificate for 127.0.0.1 and localhost, or for a client. */
  issue(name: string): Certificate;
}

export function createAuthority(name: string): Authority {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const self = { name, key: keys.privateKey };
  const own = certificateOf({ subject: name, publicKey: keys.publicKey, issuer: self, authority: true });
  return {
    cert: own,
    key: pemOf(keys.privateKey),
    issue(subject) {
      const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const cert = certificateOf({ subject, publicKey: leaf.publicKey, issuer: self, authority: false });
      return { cert, key: pemOf(leaf.privateKey) };
    },
  };
}

interface Terms {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly issuer: { readonly name: string; readonly key: KeyObject };
  readonly authority: boolean;
}

let serial = 1;

function certificateOf({ subject, publicKey, issuer, authority }: Terms): string {
  const algorithm = sequence(objectId(1, 2, 840, 10045, 4, 3, 2)); // ecdsa-with-SHA256
  const terms = sequence(
    tagged(0xa0, integer(2)), // v3
    integer(serial++),
    algorithm,
    nameOf(issuer.name),
    sequence(utcTime("200101000000Z"), utcTime("491231235959Z")),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensionsOf(authority))),
  );
  const signature = sign("sha256", terms, issuer.key);
  const der = sequence(terms, algorithm, tagged(0x03, Buffer.from([0]), signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function extensionsOf(authority: boolean): Buffer[] {
  const isAuthority = tagged(0x01, Buffer.from([0xff]));
  const basicConstraints = sequence(
    objectId(2, 5, 29, 19),
    tagged(0x04, authority ? sequence(isAuthority) : sequence()),
  );
  if (authority) return [basicConstraints];
  const names = sequence(tagged(0x82, Buffer.from("localhost")), tagged(0x87, Buffer.from([127, 0, 0, 1])));
  return [basicConstraints, sequence(objectId(2, 5, 29, 17), tagged(0x04, names))];
}

function nameOf(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId(2, 5, 4, 3), tagged(0x0c, Buffer.from(commonName)))));
}

function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

/** Below 128, as all that are needed here. */
function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]));
}

function utcTime(text: string): Buffer {
  return tagged(0x17, Buffer.from(text));
}

function objectId(first: number, second: number, ...others: number[]): Buffer {
  const bytes = [first * 40 + second];
  for (const arc of others) {
    const groups = [arc & 127];
    for (let rest = arc >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 127) | 128);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
