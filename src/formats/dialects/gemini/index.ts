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
