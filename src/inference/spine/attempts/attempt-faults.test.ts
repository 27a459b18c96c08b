import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readError as readGeminiError } from '../../../formats/dialects/gemini/errors.ts';
import { readError as readOpenAiError } from '../../../formats/dialects/openai-chat/errors.ts';
import { createConnection } from '../../../formats/providers/provider-connection.ts';
import { openai } from '../../../formats/providers/services/openai.ts';
import { faultInAnswer, statusFault } from './attempt-faults.ts';

const facts = { name: 'p', provider: openai, baseUrl: null, secrets: ['sk-one'], headers: {}, apiVersion: null };
const made = createConnection(facts);
assert.ok(made.ok);
const { connection } = made;

function waitOf(body: unknown, status = 503, headers: Record<string, string> = {}): number | null {
  const dialect = status === 500 ? ('gemini' as const) : ('openai-chat' as const);
  const found = statusFault(
    {
      status,
      headers: { get: (name) => headers[name], names: () => Object.keys(headers) },
      body: Buffer.from(JSON.stringify(body)),
    },
    { id: dialect, readError: dialect === 'gemini' ? readGeminiError : readOpenAiError },
    connection,
    0,
  );
  assert.equal(found.class, 'transient');
  return found.retryAfterMs ?? null;
}

test('the wait in the body of a 503 counts like its header, unclamped, and the header before it', () => {
  const error = (more: object) => ({ error: { message: 'overloaded', ...more } });
  assert.equal(waitOf(error({})), null);
  assert.equal(waitOf(error({ retry_after: 1 })), 1_000);
  assert.equal(waitOf(error({ message: 'busy, try again in 300ms' })), 300);
  assert.equal(waitOf(error({ retry_after: 1 }), 503, { 'retry-after': '2' }), 2_000);
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' }];
  assert.equal(waitOf(error({ code: 500, status: 'INTERNAL', details }), 500), 1_500);
});

test('so does the wait of an error inside a 200', () => {
  const found = { class: 'transient', status: null, message: 'overloaded', members: { retry_after: 2 } } as const;
  assert.equal(faultInAnswer(found, connection, 0).retryAfterMs, 2_000);
});
