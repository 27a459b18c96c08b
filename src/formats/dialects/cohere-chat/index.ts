import type { UpstreamDialect } from '../dialect.ts';
import { readError } from '../openai-chat/errors.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { vendor } from './wire.ts';

/** Cohere's Chat v2. No caller speaks it. Its errors are OpenAI's `message` alone. */
export const cohereChat: UpstreamDialect = { id: vendor, encodeRequest, decodeStream, decodeWhole, readError };
