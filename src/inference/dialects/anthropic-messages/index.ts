import type { UpstreamDialect } from '../dialect.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest } from './encode-request.ts';
import { readError } from './errors.ts';
import { readInPassing } from './read-in-passing.ts';

/** Anthropic's Messages format, as providers speak it. */
export const anthropicMessages: UpstreamDialect = {
  id: 'anthropic-messages',
  encodeRequest,
  decodeStream,
  decodeWhole,
  readInPassing,
  readError,
};
