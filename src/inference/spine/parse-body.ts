import { invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type JsonScan, scanJson } from '../../kernel/json-scan.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { whereJsonFails } from '../../kernel/where-json-fails.ts';
import type { Result } from '../dialects/dialect.ts';
import { notUtf8, readTwoWays } from './read-one-way.ts';

/** A JSON object that every parser reads the same way; the failure is a 400. */
export function parseBody(raw: Buffer): Result<{ body: JsonObject; scan: JsonScan }> {
  const scan = scanJson(raw, jsonDepthMax);
  const garbled = notUtf8(raw);
  if (garbled !== null) return { ok: false, failure: garbled };
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
