import { isUtf8 } from 'node:buffer';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonScan, repeatedName, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { loneSurrogateIn } from '../../kernel/lone-surrogate.ts';
import { whereJsonFails } from '../../kernel/where-json-fails.ts';
import type { Result } from '../dialects/dialect.ts';
import { folded } from '../dialects/named-objects.ts';

/** A JSON object that every parser reads the same way; the failure is a 400. */
export function parseBody(raw: Buffer): Result<{ body: JsonObject; scan: JsonScan }> {
  const scan = scanJson(raw, jsonDepthMax);
  // Invalid UTF-8 is replaced here, and elsewhere skipped or refused.
  if (!isUtf8(raw)) return refused(null, 'The body is not valid UTF-8.');
  if (scan.tooDeep) return refused(null, `The body nests deeper than ${jsonDepthMax} levels.`);
  let body: unknown;
  try {
    body = JSON.parse(raw.toString('utf8'));
  } catch (error) {
    return refused(null, `The body is not valid JSON: ${whereJsonFails(error)}.`);
  }
  if (!isObject(body)) return refused(null, 'The body must be a JSON object.');
  const ambiguous = readTwoWays(raw, body, scan);
  return ambiguous === null ? { ok: true, value: { body, scan } } : { ok: false, failure: ambiguous };
}

function refused(param: string | null, message: string) {
  return { ok: false, failure: invalid(param, message) } as const;
}

/*
 * A body that goes on as bytes is read twice: by us, who decide by it, and by an upstream with another parser. A body
 * that the two could read differently is refused (faults.md S21).
 */

/** After parsing; null when there is one way to read it. `scan` and `body` come from the same `raw`. */
function readTwoWays(raw: Buffer, body: JsonObject, scan: JsonScan): Failure | null {
  // JSON.parse keeps the last one; an upstream may keep the first.
  if (scan.modelCount > 1) return invalid('model', "The body has more than one 'model'.");
  const names = Object.keys(body);
  if (scan.memberCount !== names.length) {
    const name = repeatedName(raw, scan.members);
    return invalid(
      name,
      `The body has ${name === null ? 'two members with the same name' : `more than one '${name}'`}.`,
    );
  }
  for (const name of names) {
    if (/^[a-z_]+$/.test(name)) continue;
    const plain = folded(name);
    if (plain === name || !Object.hasOwn(body, plain)) continue;
    return invalid(
      name.slice(0, 64),
      `The body also has '${plain}' in another spelling, which some servers read instead.`,
    );
  }
  for (const name of magicNames) {
    if (Object.hasOwn(body, name)) return invalid(name, `'${name}' is not a parameter. Leave it out.`);
  }
  // Without an escape no half of a pair can stand in valid UTF-8.
  if (!raw.includes('\\u')) return null;
  const path = loneSurrogateIn(body, '');
  return path === null
    ? null
    : invalid(path, `Invalid '${path}': it holds half of a surrogate pair. Send valid Unicode.`);
}

/** Names that mean something else than a member to careless readers. No API has parameters called so. */
const magicNames = ['__proto__', 'constructor', 'prototype'] as const;
