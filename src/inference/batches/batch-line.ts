import { isUtf8 } from 'node:buffer';
import type { BatchFormat, BatchRow } from '../../books/metering/batch-store.ts';
import { withPathMembers, withPathModel } from '../../formats/dialects/gemini/path-members.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, parsedData, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import type { BatchFacts, GeminiBatchFacts } from './batch-facts.ts';
import { geminiEmbeddingsPath } from './line-endpoints.ts';

/** A line of a batch, as its format has it. */
export type BatchLine =
  | { customId: string; body: Buffer; request: JsonObject }
  /** It fails alone. `customId` null: nobody can tell whose it is. */
  | { customId: string | null; failure: Failure };

/** Length of the name that a line's answer is found by. */
const customIdCharsMax = 512;

/** `bytes` null: it is longer than a line may be. */
export function readBatchLine(
  { format, endpoint, gemini }: Pick<BatchRow, 'format' | 'endpoint'> & Pick<BatchFacts, 'gemini'>,
  bytes: Buffer | null,
): BatchLine {
  if (bytes === null) return { customId: null, failure: invalid(null, 'This line is longer than a line may be.') };
  if (!isUtf8(bytes)) return { customId: null, failure: invalid(null, 'This line is not valid UTF-8.') };
  const line = objectIn(bytes);
  if (line === null) return { customId: null, failure: invalid(null, 'This line is not a JSON object.') };
  const idMember = format === 'gemini' ? 'key' : 'custom_id';
  const customId = line[idMember];
  if (typeof customId !== 'string' || customId === '' || customId.length > customIdCharsMax) {
    const message = `'${idMember}' must be a text of 1 to ${customIdCharsMax} characters.`;
    return { customId: null, failure: invalid(idMember, message) };
  }
  const refused = format === 'openai' ? wrongPlace(line, endpoint) : null;
  if (refused !== null) return { customId, failure: refused };
  const member = bodyMember[format];
  const body = line[member];
  if (!isObject(body)) return { customId, failure: invalid(member, `'${member}' must be an object.`) };
  for (const name of ['stream', 'background']) {
    if (body[name] === true) {
      return { customId, failure: invalid(`${member}.${name}`, `'${name}' cannot be true in a batch.`) };
    }
  }
  const written = bytesOf(body);
  if (written === null) return { customId, failure: invalid(member, `'${member}' is nested too deeply.`) };
  return { customId, body: gemini === undefined ? written : withModelOf(gemini, endpoint, written), request: body };
}

function withModelOf({ model }: GeminiBatchFacts, endpoint: string, body: Buffer): Buffer {
  return endpoint === geminiEmbeddingsPath ? withPathModel(body, model) : withPathMembers(body, model, false);
}

const bodyMember: Record<BatchFormat, string> = { openai: 'body', anthropic: 'params', gemini: 'request' };

function wrongPlace({ method, url }: JsonObject, endpoint: string): Failure | null {
  if (method !== 'POST') return invalid('method', "'method' must be POST.");
  if (url !== endpoint) return invalid('url', `'url' must be the endpoint of the batch, ${endpoint}.`);
  return null;
}

function objectIn(bytes: Buffer): JsonObject | null {
  return scanJson(bytes, jsonDepthMax).tooDeep ? null : parsedData(bytes.toString('utf8'));
}

/** Null: it is nested too deeply to be written. */
export function bytesOf(body: JsonObject): Buffer | null {
  try {
    return Buffer.from(JSON.stringify(body));
  } catch {
    return null;
  }
}
