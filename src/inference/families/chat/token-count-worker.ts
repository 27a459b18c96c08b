import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { threadPort } from '../../../kernel/threads/thread-port.ts';
import { countInPieces, countRequest, readForCount } from './count-request.ts';

/** Orders to the worker. Every order is answered once, in turn. */
export interface CountOrder {
  id: number;
  raw: Uint8Array<ArrayBuffer>;
  dialect: CallerDialectId;
}

// Words such as <|endoftext|> are a caller's text like any other.
const asText = { disallowedSpecial: new Set<string>() };
const countText = (text: string) => countInPieces(text, (piece) => countTokens(piece, asText));

threadPort().on('message', ({ id, raw, dialect }: CountOrder) => {
  try {
    const read = readForCount(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), dialect);
    const result = isFailure(read) ? read : { model: read.model, inputTokens: countRequest(read.neutral(), countText) };
    threadPort().postMessage({ id, result });
  } catch (error) {
    threadPort().postMessage({ id, error: String(error) });
  }
});
// It has loaded.
threadPort().postMessage({});
