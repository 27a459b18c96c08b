import type { UpstreamDialect } from '../dialect.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest, withOperatorFields } from './encode-request.ts';
import { readError } from './errors.ts';
import { readInPassing } from './read-in-passing.ts';

/** Google's Gemini API (`generateContent`), as its provider speaks it. */
export const gemini: UpstreamDialect = {
  id: 'gemini',
  encodeRequest,
  withOperatorFields,
  mediaByUrl: 'fetch',
  decodeStream,
  decodeWhole,
  readInPassing,
  readError,
};
