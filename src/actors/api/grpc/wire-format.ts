import { BinaryReader } from "@bufbuild/protobuf/wire";

/**
 * Walks over a message's fields, and throws at what is none: a field of number 0, an unknown wire type, a group that does
 * not end, a length beyond the end. The generated readers stop at a tag of 0 as if the message ended there, and would
 * take the beginning of a broken one for all of it (protobuf.dev, "Encoding": field numbers begin at 1).
 */
export function checkWireFormat(bytes: Buffer): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [fieldNumber, wireType] = reader.tag();
    reader.skip(wireType, fieldNumber);
  }
}
