import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CallerDialectId, CountedRequest } from '../../../formats/dialects/dialect.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { answerOrders } from '../../../kernel/threads/thread-port.ts';
import { type Counted, countInPieces, countRequest, readForCount, uncheckedIn } from './count-request.ts';

/** Orders to the worker. Every order is answered once, in turn. */
export interface CountOrder {
  id: number;
  raw: Uint8Array<ArrayBuffer>;
  dialect: CallerDialectId;
}

// Words such as <|endoftext|> are a caller's text like any other.
const asText = { disallowedSpecial: new Set<string>() };
const countText = (text: string) => countInPieces(text, (piece) => countTokens(piece, asText));

function counted(read: CountedRequest): Counted | Failure {
  return uncheckedIn(read) ?? { model: read.model, inputTokens: countRequest(read.neutral(), countText) };
}

answerOrders(({ raw, dialect }: CountOrder) => {
  const read = readForCount(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), dialect);
  return isFailure(read) ? read : counted(read);
});
