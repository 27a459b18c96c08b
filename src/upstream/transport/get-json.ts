import { parsedJson } from '../../kernel/json.ts';
import type { Transport } from './upstream-call.ts';
import { type WholeRequest, wholeAnswer } from './whole-answer.ts';

const bytesMax = 8 * 1024 * 1024;
const connectTimeoutMs = 3_000;

type Address = Pick<WholeRequest, 'origin' | 'route' | 'path' | 'headers' | 'authorize'>;

/** `body` is undefined when the answer is not JSON. */
export interface JsonAnswer {
  status: number;
  body: unknown;
}

/** One GET with a whole JSON answer. Rejects when no answer came within `timeoutMs` or it was larger than 8 MB. */
export function getJson(transport: Transport, address: Address, timeoutMs: number): Promise<JsonAnswer> {
  return askJson(transport, { ...address, method: 'GET', body: null }, timeoutMs);
}

/** The same for a POST. */
export function postJson(
  transport: Transport,
  address: Address,
  body: Buffer | string,
  timeoutMs: number,
): Promise<JsonAnswer> {
  return askJson(transport, { ...address, method: 'POST', body }, timeoutMs);
}

/** The same for any request. */
export async function askJson(transport: Transport, request: WholeRequest, timeoutMs: number): Promise<JsonAnswer> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const { status, bytes } = await wholeAnswer(transport, request, { connectTimeoutMs, bytesMax, deadline });
  return { status, body: parsedJson(bytes.toString('utf8')) };
}
