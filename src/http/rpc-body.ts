import { type Failure, invalid, isFailure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';
import { parseObject } from '../kernel/parse-object.ts';

/** The code of a refusal that is JSON-RPC's "Parse error". */
export const parseErrorCode = 'parse_error';

/**
 * The one object of a body of JSON-RPC; a list of them is refused: MCP and A2A have done away with batches, whose messages
 * would each be a call. In an object, since a caller may name a member `kind`.
 */
export function rpcBody(raw: Buffer): Failure | { rpc: JsonObject } {
  if (/^\s*\[/.test(raw.subarray(0, 64).toString('latin1'))) {
    return invalid(null, 'The request body must be one JSON-RPC message: an object. Batches are not supported.');
  }
  const parsed = parseObject(raw);
  if (!isFailure(parsed)) return { rpc: parsed.body };
  const isSyntax = parsed.kind === 'invalid-request' && parsed.isJson === false;
  return isSyntax ? { ...parsed, code: parseErrorCode } : parsed;
}
