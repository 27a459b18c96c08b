import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeStream } from './encode-stream.ts';
import { errorBody, errorFrame } from './error-body.ts';
import { readError } from './errors.ts';
import { fold } from './fold.ts';
import { objectsIn } from './named-objects.ts';
import { readInPassing } from './read-in-passing.ts';
import { readForCount, readRequest } from './read-request.ts';
import { vendor } from './wire.ts';

/** Anthropic's Messages format, as callers and as providers speak it. */
export const anthropicMessages: CallerDialect & UpstreamDialect = {
  id: vendor,
  readRequest,
  objectsIn,
  readForCount,
  encodeRequest,
  encodeStream,
  fold,
  errorBody,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing,
  readError,
};
