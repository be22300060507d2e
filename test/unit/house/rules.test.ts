import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.startsWith("messages/proto/generated/"))
  .map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }));

/** The file's code without its comments, which may name what the code must not use. */
const codeOf = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");

function importsOf({ name, text }: { name: string; text: string }): string[] {
  const found = [...codeOf(text).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)];
  return found.map(([, path]) => relative(join(root, "src"), join(root, "src", dirname(name), path ?? "")));
}

/** The part of the house that a file belongs to: an actor's folder, or a folder of `src`. */
const partOf = (name: string): string =>
  name
    .split("/")
    .slice(0, name.startsWith("actors/") ? 2 : 1)
    .join("/");

function mayImport(from: string, target: string): boolean {
  const part = partOf(from);
  const targetPart = partOf(target);
  if (part === targetPart) return true;
  const low = ["messages", "ports"];
  if (part === "messages" || part === "ports") return false;
  // It knows no domain; what a thrown thing says is none.
  if (part === "actors/kernel") return targetPart === "ports" || target === "messages/thrown.ts";
  if (part === "client") return low.includes(targetPart);
  if (part.startsWith("actors/")) {
    return low.includes(targetPart) || targetPart === "actors/kernel" || target.endsWith("/client.ts");
  }
  if (part === "programs" || part === "simulation") return target !== "main.ts" && targetPart !== part;
  return true;
}

describe("imports point one way: messages ← cores ← actors ← programs ← main", () => {
  test("and of another actor's folder only the client is imported", () => {
    const wrong = sources.flatMap((source) =>
      importsOf(source)
        .filter((target) => !mayImport(source.name, target))
        .map((target) => `${source.name} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe("time and chance come from src/ports only", () => {
  // `.setTimeout` of a socket is its idle limit, not a timer.
  const forbidden =
    /(?<![\w.])(Date\.now|new Date\(\)|performance\.now|setTimeout|setInterval|Math\.random|randomBytes|process\.hrtime)\b/;
  test("no other file reads a clock, waits on one, or draws", () => {
    const wrong = sources
      .filter(({ name }) => !name.startsWith("ports/"))
      .flatMap(({ name, text }) =>
        codeOf(text)
          .split("\n")
          .filter((line) => forbidden.test(line))
          .map((line) => `${name}: ${line.trim()}`),
      );
    expect(wrong).toEqual([]);
  });
});

test("no folder or file is a place for anything", () => {
  const vague = sources
    .map(({ name }) => name)
    .filter((name) => /(^|\/)(utils?|common|helpers?|misc)(\/|\.|$)/.test(name));
  expect(vague).toEqual([]);
});

test("files hold one idea: none is longer than 400 lines", () => {
  const long = sources.filter(({ text }) => text.split("\n").length > 400).map(({ name }) => name);
  expect(long).toEqual([]);
});
