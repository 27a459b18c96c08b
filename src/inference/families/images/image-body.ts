import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { objectNotFound } from '../../../formats/dialects/named-objects.ts';
import { readImageRequest } from '../../../formats/media/images/read-request.ts';
import type { ImageNeeds, ImageRequest } from '../../../formats/neutral/image.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { plainFacts, type RequestBody, type RequestFacts } from '../../spine/request-body.ts';
import type { ImageEdit } from './image-edit.ts';

/** A checked request for pictures: plain data, so it is encoded where the attempts are. */
export type ImageBody = RequestBody<RequestFacts & { request: ImageRequest }>;

/** Parses and checks; the failure is a 400 in every case. */
export function readImages(raw: Buffer): ImageBody | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  const { body } = parsed;
  // Unknown members go on to the provider; ids of its files do not.
  const [named] = dialects['openai-chat'].objects.find(body);
  if (named !== undefined) return objectNotFound(named.field);
  const read = readImageRequest(body);
  return isFailure(read) ? read : imageBody(read);
}

export function imageBody(request: ImageRequest, edit: ImageEdit | null = null): ImageBody {
  const { size, background, outputFormat, model, user, prompt } = request;
  const inputTokensEstimate = estimatedTokens(Buffer.byteLength(prompt));
  const image = {
    size,
    transparent: background === 'transparent',
    outputFormat,
    edit: edit === null ? null : neededFor(edit),
  };
  const plain = plainFacts({ model, user, stream: request.stream !== null, inputTokensEstimate }, { image });
  return { facts: { ...plain, request }, release() {} };
}

function neededFor({ pictures, mask, markup }: ImageEdit): ImageNeeds['edit'] {
  const bytes = [...pictures, ...(mask === null ? [] : [mask])].reduce((sum, { file }) => sum + file.bytes, 0);
  return { pictures: pictures.length, mask: mask !== null, markup: markup !== null, bytes };
}
