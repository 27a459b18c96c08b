import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Message, StreamResponse } from '@a2a-js/sdk';
import { startAgent } from '../start-agent.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { agentClient, rpc, sending, textOf } from './a2a-client.ts';

/* Guards of messages to agents, and of what they answer (docs/a2a.md, docs/guards.md). */

/** Texts of an artifact that an agent streams, with a message of its state before the last one. */
const chunks = ['Ask ann@exam', 'ple.org, or <EMA', 'IL_1>, or bob@exa', 'mple.org.'];
const chunked = await startAgent(
  { after },
  {
    before(request, response) {
      if (request.method !== 'POST') return false;
      response.setHeader('content-type', 'text/event-stream');
      const send = (result: object) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`);
      const ids = { taskId: 't', contextId: 'c' };
      for (const [at, text] of chunks.entries()) {
        const isLast = at === chunks.length - 1;
        if (isLast) send({ statusUpdate: { ...ids, status: { state: 'TASK_STATE_WORKING' } } });
        send({
          artifactUpdate: {
            ...ids,
            artifact: { artifactId: 'a', name: 'To <EMAIL_1>', parts: [{ text }] },
            append: at > 0,
            lastChunk: isLast,
          },
        });
      }
      const two = [{ text: 'For bob' }, { text: 'Hello' }];
      send({ artifactUpdate: { ...ids, artifact: { artifactId: 'b', parts: two }, append: false } });
      const parts = [{ data: { name: '<EMAIL_1>', status: 'di@example.org' } }];
      const message = { messageId: 'n', role: 'ROLE_AGENT', parts };
      send({ statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED', message } } });
      response.end();
      return true;
    },
  },
);
/** An agent whose message has a value in two parts, behind one that calls itself a thought. */
const halves = await startAgent(
  { after },
  {
    before(request, response) {
      if (request.method !== 'POST') return false;
      const thought = { type: 'reasoning', text: 'Hm.' };
      const parts = [thought, { text: 'Ask ann@exam' }, { text: 'ple.org.' }];
      const result = { message: { messageId: 'm', role: 'ROLE_AGENT', parts } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
      return true;
    },
  },
);
const agent = await startAgent({ after });
const blockedKey = 'sk-cv-test-key-blocked';
const gateway = await startGateway(
  { after: after as never },
  {
    agents: { worker: { url: agent.url }, chunked: { url: chunked.url }, halves: { url: halves.url } },
    guards: {
      masks: { check: 'personal-data', kinds: ['email'], action: 'mask', parts: ['user', 'assistant', 'tool-result'] },
      // Ids are such, and stay.
      uuids: { check: 'patterns', patterns: ['[0-9a-f]{8}-[0-9a-f]{4}'], action: 'mask' },
      words: { check: 'words', words: ['forbidden'], action: 'block' },
      answers: { check: 'words', words: ['You said'], action: 'block', on: ['output'] },
    },
    plans: {
      default: { rpm: 'off', guards: ['masks', 'uuids', 'words'] },
      answers: { rpm: 'off', guards: ['answers'] },
    },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: blockedKey, account: 'blocked', name: 'test', plan: 'answers' },
    ],
  },
);

const mail = 'ann@example.org';
const textIn = ({ text }: { text?: string }) => text;

test('a masked text of a message does not reach the agent, and comes back in its answer', async () => {
  const client = await agentClient(gateway, 'worker');
  const answer = (await client.sendMessage(sending(`write to ${mail}`))) as Message;
  const heard = textOf(agent.messages().at(-1)!);
  assert.doesNotMatch(heard, /example/);
  assert.equal(textOf(answer), `You said: write to ${mail}`);
});

test('data and names of files in a message are guarded too, and its ids stay as they are', async () => {
  const parts = [{ data: { to: mail } }, { url: 'https://files.example.org/1', filename: `${mail}.txt` }];
  const message = { messageId: 'call-555-0100', role: 'ROLE_USER', parts, contextId: 'order-4111111111111111' };
  const sent = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
  const { status, result, error } = await rpc(gateway, 'worker', sent);
  assert.deepEqual([status, error], [200, undefined]);
  const heard = agent.messages().at(-1)!;
  assert.doesNotMatch(JSON.stringify(heard), /ann@/);
  assert.equal(heard.messageId, 'call-555-0100');
  assert.match(JSON.stringify(result), /"contextId":"order-4111111111111111"/);
  const bytes = { ...sent, params: { message: { ...message, parts: [{ raw: 'AAAA', filename: 'a.png' }] } } };
  assert.match((await rpc(gateway, 'worker', bytes)).error?.message ?? '', /cannot read a part/);
});

test('a masked text comes back in a stream, whose ids the caller can use', async () => {
  const client = await agentClient(gateway, 'worker');
  const events: StreamResponse[] = [];
  for await (const event of client.sendMessageStream(sending(`work for ${mail}`))) events.push(event);
  const [begun, done] = ['task', 'artifactUpdate'].map((name) => events.find(({ payload }) => payload?.$case === name));
  assert.ok(begun?.payload?.$case === 'task' && done?.payload?.$case === 'artifactUpdate');
  assert.equal(done.payload.value.taskId, begun.payload.value.id);
  assert.equal(textOf(done.payload.value.artifact!), `done: work for ${mail}`);
  assert.doesNotMatch(textOf(agent.messages().at(-1)!), /example/);
  const task = await client.getTask({ tenant: '', id: begun.payload.value.id, historyLength: undefined });
  assert.equal(task.id, begun.payload.value.id);
});

test('a value or a word that an agent streams in pieces of an artifact is read whole', async () => {
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'cy@example.org' }] } };
  const json = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params };
  const raw = await (await gateway.fetch('/a2a/chunked', { json })).text();
  const events = Array.from(raw.matchAll(/^data: (.*)$/gm), ([, data = '']) => JSON.parse(data).result);
  const texts = events.map(({ artifactUpdate }) => artifactUpdate?.artifact.parts.map(textIn).join('|') ?? '-');
  // A message of its state lets all before it go on.
  assert.equal(texts.join(''), 'Ask <EMAIL_2>, or cy@example.org, or bob@exa-<EMAIL_3>.For bob|Hello-');
  assert.equal(events[0].artifactUpdate.artifact.name, 'To cy@example.org');
  const [{ data }] = events.at(-1).statusUpdate.status.message.parts;
  assert.deepEqual(data, { name: 'cy@example.org', status: '<EMAIL_4>' });
});

test('a value across two parts of a message is masked in both', async () => {
  const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] } };
  const { result } = await rpc(gateway, 'halves', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
  const { parts } = result!.message as { parts: { text: string }[] };
  assert.deepEqual(parts.map(textIn), ['Hm.', 'Ask <EMAIL_1>', '<EMAIL_1>.']);
});

test('a message that a guard refuses is an error with its id, and the agent hears nothing', async () => {
  const before = agent.messages().length;
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a forbidden word' }] };
  const refused = await rpc(gateway, 'worker', { jsonrpc: '2.0', id: 'g', method: 'SendMessage', params: { message } });
  assert.deepEqual([refused.status, refused.id, refused.error?.code], [200, 'g', -32000]);
  assert.match(refused.error?.message ?? '', /words/);
  assert.equal(agent.messages().length, before);
});

test('an answer that a guard refuses does not reach the caller', async () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
  for (const method of ['SendMessage', 'SendStreamingMessage']) {
    const response = await gateway.fetch('/a2a/worker', {
      json: { jsonrpc: '2.0', id: 'g', method, params: { message } },
      headers: { authorization: `Bearer ${blockedKey}` },
    });
    const text = await response.text();
    assert.doesNotMatch(text, /You said: hello/);
    assert.match(text, /"code":-32000/);
    assert.match(text, /"id":"g"/);
  }
});
