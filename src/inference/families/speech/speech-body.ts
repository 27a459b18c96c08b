import { readSpeechRequest } from '../../../formats/media/speech/read-request.ts';
import type { SpeechRequest } from '../../../formats/neutral/speech.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { plainFacts, type RequestBody, type RequestFacts } from '../../spine/request-body.ts';

/** A checked request for speech: small and plain, so it is encoded where the attempts are. */
export type SpeechBody = RequestBody<RequestFacts & { request: SpeechRequest }>;

/** Parses and checks; the failure is a 400 in every case. */
export function readSpeech(raw: Buffer): SpeechBody | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  const request = readSpeechRequest(parsed.body);
  if (isFailure(request)) return request;
  const { model, user, input, delivery } = request;
  const inputTokensEstimate = estimatedTokens(Buffer.byteLength(input));
  // A repeat by Idempotency-Key gets the sound whole; events are made here, for who asked for them now.
  const plain = plainFacts({ model, user, stream: delivery === 'events', inputTokensEstimate }, { stream: false });
  return { facts: { ...plain, request }, release() {} };
}
