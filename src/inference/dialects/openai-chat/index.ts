import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeRequest } from './decode-request.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeStream } from './encode-stream.ts';
import { errorBody, errorFrame } from './errors.ts';
import { fold } from './fold.ts';
import { objectsIn } from './named-objects.ts';
import { readError } from './read-error.ts';
import { readInPassing } from './read-in-passing.ts';
import { readRequest } from './read-request.ts';
import { openAiChatId } from './wire.ts';

/** OpenAI's chat completions, as callers and as providers speak them. */
export const openAiChat: CallerDialect & UpstreamDialect = {
  id: openAiChatId,
  decodeRequest,
  readRequest,
  objectsIn,
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
