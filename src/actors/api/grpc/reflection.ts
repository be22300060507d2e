import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { service as healthService } from "grpc-health-check";
import { DESCRIPTOR_SET_BASE64 } from "../../../messages/proto/generated/descriptors.ts";

/** `FileDescriptorSet.file`, the set's only field, as a tag: number 1, length-delimited (descriptor.proto). */
const FILE_TAG = (1 << 3) | 2;

/** Server reflection (v1 and v1alpha), so that tools call the services without having their .proto files. */
export function addReflection(server: Server): void {
  const files = { format: "Protocol Buffer 3 DescriptorProto", type: {}, fileDescriptorProtos: ourFiles() };
  const reflection = new ReflectionService({ ours: files, health: healthTypes() } as unknown as ConstructorParameters<
    typeof ReflectionService
  >[0]);
  reflection.addToServer(server);
}

function ourFiles(): Buffer[] {
  const reader = new BinaryReader(Buffer.from(DESCRIPTOR_SET_BASE64, "base64"));
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    if (reader.uint32() !== FILE_TAG) throw new Error("the generated descriptors are no FileDescriptorSet");
    files.push(Buffer.from(reader.bytes()));
  }
  return files;
}

/** The health service comes with its own descriptors, on the types of its methods. */
function healthTypes(): unknown {
  const [method] = Object.values(healthService);
  return method?.requestType;
}
