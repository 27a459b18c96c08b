import { type JsonObject, type JsonScan, memberValue, withOne } from '../../kernel/json.ts';
import type { Loss } from '../neutral/loss.ts';
import type { ForwardTarget } from './forward-target.ts';

export interface ForwardBody {
  bytes: Buffer | string;
  losses: Loss[];
}

/**
 * Top-level fields that never leave the gateway: the first two are the gateway's, the next would steer a careless
 * upstream (S1). The last say which blocks of memory a server of vLLM or SGLang reads, and from whom: other callers'
 * prompts are in them.
 */
export const gatewayOnlyFields: ReadonlySet<string> = new Set(
  `models fallbacks api_base base_url baseURL api_key api_version custom_llm_provider
  extra_headers extra_body kv_transfer_params bootstrap_host bootstrap_port bootstrap_room`.split(/\s+/),
);

/** Members of a body that no reader of it knows, and that are not for the gateway: they go to the provider as they are. */
export function furtherMembers(body: JsonObject, known: ReadonlySet<string>): JsonObject {
  const isFurther = (name: string) => !known.has(name) && !gatewayOnlyFields.has(name) && body[name] !== null;
  return Object.fromEntries(Object.entries(body).filter(([name]) => isFurther(name)));
}

/**
 * Body of a caller for a target of the same format: the bytes as they came, but for spliced values. A field that must
 * go or be renamed, a key written with escapes or given twice makes it write the JSON anew. `parsed` and `scan` are the
 * results of `JSON.parse` and `scanJson` for `rawBody`; `values` are the dialect's, and the operator's for this target
 * replace them. Omitted fields are added to `losses`.
 */
export function forwardBody(
  rawBody: Buffer,
  parsed: JsonObject,
  scan: JsonScan,
  target: ForwardTarget,
  callerFields: { values: Map<string, string>; losses: Loss[] },
): ForwardBody {
  const { values, losses } = callerFields;
  let to = target;
  const betas: string[] = [];
  let fitted = parsed;
  for (const fitMembers of target.fits ?? []) {
    if (fitMembers.of !== undefined && parsed[fitMembers.of] === undefined) continue;
    const fit = fitMembers(fitted);
    if (fit === null) continue;
    fitted = { ...fitted, ...fit.members };
    for (const name in fit.members) values.set(name, JSON.stringify(fit.members[name]));
    if (fit.without !== undefined) to = { ...to, without: [...(to.without ?? []), ...fit.without] };
    betas.push(...(fit.betas ?? []));
    losses.push(...fit.losses);
  }
  for (const name in target.body) {
    const value = JSON.stringify(target.body[name]) as string | undefined;
    if (value !== undefined) values.set(name, value);
  }
  if (betas.length > 0) {
    const { anthropic_beta: others } = target.body;
    values.set('anthropic_beta', JSON.stringify([...new Set([...(Array.isArray(others) ? others : []), ...betas])]));
  }
  const spliced = mustRewrite(parsed, to) ? null : splicedBody(rawBody, parsed, scan, values);
  return { bytes: spliced ?? rewritten(parsed, values, to, losses), losses };
}

function mustRewrite(parsed: JsonObject, { omit, without = [], rename }: ForwardTarget): boolean {
  for (const name in parsed) if (gatewayOnlyFields.has(name) || Object.hasOwn(rename, name)) return true;
  for (const name of omit) if (Object.hasOwn(parsed, name)) return true;
  for (const name of without) if (Object.hasOwn(parsed, name)) return true;
  return false;
}

function rewritten(parsed: JsonObject, values: Values, target: ForwardTarget, losses: Loss[]): string {
  // A spread defines members, so a `__proto__` from the wire stays a plain member (S21).
  const body: JsonObject = { ...parsed };
  for (const name of gatewayOnlyFields) delete body[name];
  for (const [name, text] of values) body[name] = JSON.parse(text);
  for (const name of target.omit) {
    // The operator's fields for this target stay; no quirk removes them.
    if (!Object.hasOwn(body, name) || Object.hasOwn(target.body, name)) continue;
    if (body[name] !== null) losses.push({ field: name, why: 'unsupported' });
    delete body[name];
  }
  for (const name of target.without ?? []) delete body[name];
  for (const [from, to] of Object.entries(target.rename)) renameField(body, from, to);
  return JSON.stringify(body);
}

/** Top-level members' new values, as JSON. */
type Values = ReadonlyMap<string, string>;

interface Edit {
  start: number;
  /** Exclusive; equal to `start` for an insertion. */
  end: number;
  text: string;
}

/**
 * Bytes as they came, but for the `values` of top-level members: replaced in place, or else inserted first. `parsed`
 * and `scan` are the results of `JSON.parse` and `scanJson` for `rawBody`. Null if the bytes may differ from `parsed`
 * (a key written with escapes or given twice): then the JSON must be written anew.
 */
function splicedBody(rawBody: Buffer, parsed: JsonObject, scan: JsonScan, values: Values): Buffer | null {
  const edits = editsFor(rawBody, parsed, scan, values);
  return edits === null ? null : spliced(rawBody, edits);
}

function editsFor(rawBody: Buffer, parsed: JsonObject, scan: JsonScan, values: Values): Edit[] | null {
  if (scan.model === null || scan.opaqueKeys || scan.tooDeep || scan.afterBrace < 0) return null;
  let edits: Edit[] = [];
  let inserted = '';
  for (const [name, text] of values) {
    if (Object.hasOwn(parsed, name)) {
      const range = name === 'model' ? scan.model : memberValue(rawBody, scan.members, name);
      if (range === null) return null;
      edits = withOne(edits, { start: range.start, end: range.end, text });
    } else inserted += `${JSON.stringify(name)}:${text},`;
  }
  // `model` comes somewhere after it, so the last comma is always followed by a member.
  if (inserted !== '') edits = withOne(edits, { start: scan.afterBrace, end: scan.afterBrace, text: inserted });
  return edits.length > 1 ? edits.sort((a, b) => a.start - b.start) : edits;
}

function spliced(rawBody: Buffer, edits: readonly Edit[]): Buffer {
  let length = rawBody.length;
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start);
  const body = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    to += rawBody.copy(body, to, from, start);
    to += body.write(text, to);
    from = end;
  }
  rawBody.copy(body, to, from);
  return body;
}

/** Spells a top-level field as the provider does. If both spellings are there, the provider's stays. */
export function renameField(body: JsonObject, from: string, to: string): void {
  if (!Object.hasOwn(body, from)) return;
  const value = body[from];
  delete body[from];
  if (value !== undefined && (body[to] === undefined || body[to] === null)) body[to] = value;
}
