import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest, encoderFor, withOperatorFields } from './encode-request.ts';
import { errorBody, errorFrame, readError } from './errors.ts';
import { inlineFiles } from './inline-files.ts';
import { readInPassing } from './read-in-passing.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';

/** Google's Gemini API (`generateContent`), as callers and as its provider speak it. */
export const gemini: CallerDialect & UpstreamDialect = {
  id: 'gemini',
  // Google's SDK for Python takes each line that has no data for an error, a comment too, but for empty ones.
  wire: { type: 'text/event-stream; charset=utf-8', keepAlive: () => '\r\n' },
  readRequest,
  requestSchema,
  objects,
  inlineFiles,
  encodeRequest,
  encoderFor,
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
  eventBytesMax: largeEventBytesMax,
};
