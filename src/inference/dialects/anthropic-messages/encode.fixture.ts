import assert from 'node:assert/strict';
import type { NeutralMessage, NeutralPart, NeutralRequest } from '../../neutral/request.ts';
import type { EncodedRequest, EncodeTarget } from '../dialect.ts';
import { encodeRequest } from './encode-request.ts';

/* Requests for the encoder's tests. */

export const say = (role: NeutralMessage['role'], ...parts: (NeutralPart | string)[]): NeutralMessage => ({
  role,
  parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
});
export const call = (id: string, argumentsJson: string, name = 'f'): NeutralPart => ({
  type: 'tool-call',
  id,
  name,
  argumentsJson,
});
export const result = (callId: string, ...parts: NeutralPart[]): NeutralPart => ({
  type: 'tool-result',
  callId,
  parts,
  isError: false,
});
export const text = (value: string): NeutralPart => ({ type: 'text', text: value });
export const tools = [{ name: 'f', parameters: { type: 'object', properties: { a: { $ref: '#/$defs/A' } } } }];

export const older: EncodeTarget = { model: 'claude-sonnet-4-0', maxOutputTokens: null, stream: true, omit: [] };
export const target = (model: string, maxOutputTokens: number | null = null): EncodeTarget => ({
  ...older,
  model,
  maxOutputTokens,
});

export function encode(request: Partial<NeutralRequest>, to: EncodeTarget = older): EncodedRequest {
  const full = { model: 'alias', stream: true, includeUsage: false, messages: [say('user', 'hi')], ...request };
  const encoded = encodeRequest(full, to);
  assert.ok(encoded.ok, JSON.stringify(encoded));
  return encoded.value;
}

export function refusal(request: Partial<NeutralRequest>, to: EncodeTarget = older): string | null {
  const full = { model: 'alias', stream: true, includeUsage: false, messages: [say('user', 'hi')], ...request };
  const encoded = encodeRequest(full, to);
  assert.ok(!encoded.ok && encoded.failure.kind === 'invalid-request');
  return encoded.failure.param;
}

export const turns = (...messages: NeutralMessage[]) => encode({ messages }).body.messages;
export const losses = (encoded: EncodedRequest) => encoded.losses.map((loss) => `${loss.field}:${loss.why}`);
