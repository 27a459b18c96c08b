import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream } from './encode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { errorBody, errorFrame, readError } from './errors.ts';
import { fold } from './fold-answer.ts';
import { inlineFiles } from './inline-files.ts';
import { readInPassing } from './read-in-passing.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { openAiChatId } from './wire.ts';

/** OpenAI's chat completions, as callers and as providers speak them. */
export const openAiChat: CallerDialect & UpstreamDialect = {
  id: openAiChatId,
  readRequest,
  requestSchema,
  objects,
  inlineFiles,
  encodeRequest,
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
