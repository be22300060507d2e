/** The JSON Schemas that are made of our zod schemas: for Fastify's serialiser and for the OpenAPI document. */
import { z } from "zod";

export type JsonSchema = { readonly [key: string]: unknown };

/**
 * An answer's schema in the form that compiles to a fast serialiser: no references, and `nullable` in place of a choice
 * that would be tried at run time. What it does not list is not sent.
 */
export function serialiserSchemaOf(answer: z.ZodType): JsonSchema {
  const { definitions = {}, ...schema } = z.toJSONSchema(answer, { target: "draft-7", io: "output" });
  return inlined(schema, definitions as JsonSchema) as JsonSchema;
}

const ANNOTATIONS: ReadonlySet<string> = new Set(["$schema", "id", "format", "pattern"]);

function inlined(part: unknown, definitions: JsonSchema): unknown {
  if (Array.isArray(part)) return part.map((each) => inlined(each, definitions));
  if (typeof part !== "object" || part === null) return part;
  const { $ref, anyOf, ...rest } = part as { readonly $ref?: string; readonly anyOf?: readonly JsonSchema[] };
  if ($ref !== undefined) return inlined(definitions[$ref.replace("#/definitions/", "")], definitions);
  const [choice, none] = anyOf ?? [];
  if (none?.type === "null") return { ...(inlined(choice, definitions) as JsonSchema), nullable: true };
  // The formats and patterns are the schemas' promise to the reader; a serialiser would only convert by them. A property
  // of such a name is an object, not a text.
  const kept = Object.entries(rest).filter(([key, value]) => typeof value !== "string" || !ANNOTATIONS.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, inlined(value, definitions)]));
}

/** Collects named schemas as an OpenAPI document keeps them, each under its name once. */
export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {};

  /** JSON Schema 2020-12, which is OpenAPI 3.1's own dialect; named parts become references to components. */
  refer(schema: z.ZodType, io: "input" | "output"): JsonSchema {
    const { $schema: _dialect, $defs = {}, ...rest } = z.toJSONSchema(schema, { io }) as JsonSchema;
    // What a caller may leave out differs from what an answer always holds: one name cannot be both.
    const nameOf = (id: string): string => (io === "input" ? `${id}Input` : id);
    for (const [id, definition] of Object.entries($defs as JsonSchema)) {
      this.schemas[nameOf(id)] = renamed(definition, nameOf) as JsonSchema;
    }
    const whole = renamed(rest, nameOf) as JsonSchema;
    const { id } = rest as { readonly id?: string };
    if (id === undefined) return whole;
    this.schemas[nameOf(id)] = whole;
    return { $ref: `#/components/schemas/${nameOf(id)}` };
  }
}

function renamed(part: unknown, nameOf: (id: string) => string): unknown {
  if (Array.isArray(part)) return part.map((each) => renamed(each, nameOf));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(
    Object.entries(part)
      // `id` is zod's name for the component; in JSON Schema 2020-12 it means nothing.
      .filter(([key, value]) => !(key === "id" && typeof value === "string"))
      .map(([key, value]) => {
        if (key !== "$ref") return [key, renamed(value, nameOf)];
        return [key, `#/components/schemas/${nameOf(String(value).replace("#/$defs/", ""))}`];
      }),
  );
}
