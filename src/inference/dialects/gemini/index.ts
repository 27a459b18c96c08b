import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest, withOperatorFields } from './encode-request.ts';
import { encodeStream } from './encode-stream.ts';
import { errorBody, errorFrame } from './error-body.ts';
import { readError } from './errors.ts';
import { fold } from './fold.ts';
import { objectsIn } from './named-objects.ts';
import { readInPassing } from './read-in-passing.ts';
import { readRequest } from './read-request.ts';

/** Google's Gemini API (`generateContent`), as callers and as its provider speak it. */
export const gemini: CallerDialect & UpstreamDialect = {
  id: 'gemini',
  readRequest,
  objectsIn,
  encodeRequest,
  withOperatorFields,
  mediaByUrl: 'fetch',
  encodeStream,
  fold,
  errorBody,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing,
  readError,
};
