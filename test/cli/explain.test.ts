import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

interface Explained {
  sent: boolean;
  model: string;
  cost: number;
  stream: boolean;
  candidates: {
    target: string;
    verdict: string;
    sent: { answer: string; dialect: string; calls: number; dropped: string | null } | null;
  }[];
  error: { code: number; message: string; param: string };
}

test('explain says where a body would go, how, at what loss and cost, without sending anything', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const cwd = temporaryFolder(t);
  const provider = (type: string) => ({ type, base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' });
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    stringify({
      providers: { claude: provider('anthropic'), oai: provider('openai'), blind: provider('openai') },
      models: {
        smart: {
          cost: 2,
          targets: [
            'claude/claude-x',
            { provider: 'oai', model: 'gpt-x', priority: 2 },
            { provider: 'blind', model: 'b', capabilities: { vision: false } },
          ],
        },
      },
      keys: [{ key: 'sk-cv-declared-0001', account: 'dev', name: 'n', models: ['other'] }],
    }),
  );
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const body = {
    model: 'smart',
    seed: 7,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }],
  };
  writeFileSync(join(cwd, 'body.json'), JSON.stringify(body));
  const explain = async (args: string[], input?: string) => {
    const { code, stdout, stderr } = await runCommand(
      ['explain', ...args],
      input === undefined ? { cwd } : { cwd, input },
    );
    assert.equal(stderr, '');
    return { code, said: JSON.parse(stdout) as Explained };
  };

  const { code, said } = await explain(['body.json']);
  assert.equal(code, 0);
  assert.deepEqual([said.sent, said.model, said.cost], [true, 'smart', 2]);
  assert.deepEqual(
    said.candidates.map(({ target, verdict, sent }) => [target, verdict, sent?.answer, sent?.dropped]),
    [
      ['claude/claude-x', 'ready: picked', 'converted', 'seed'],
      ['oai/gpt-x', 'ready: asked if those before it fail', 'pass-through', null],
      ['blind/b', 'not capable: vision', 'pass-through', null],
    ],
  );

  const wrong = await explain(['-'], JSON.stringify({ ...body, stream: 'yes' }));
  assert.equal(wrong.code, 1);
  assert.deepEqual([wrong.said.error.code, wrong.said.error.param], [400, 'stream']);

  const forbidden = await explain(['body.json', '--key', 'dev/n']);
  assert.equal(forbidden.code, 1);
  assert.equal(forbidden.said.error.code, 403);
  assert.deepEqual(upstream.requests(), []);
});

test('explain takes the bodies of other endpoints, each in its own format', async (t) => {
  const cwd = temporaryFolder(t);
  const provider = (type: string) => ({ type, base_url: 'http://127.0.0.1:9/v1', api_key: 'k' });
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    stringify({
      providers: { claude: provider('anthropic'), oai: provider('openai') },
      models: { smart: { targets: ['claude/claude-x', 'oai/gpt-x'] } },
      costs: { chat: 1, messages: 3 },
    }),
  );
  const body = { model: 'smart', max_tokens: 9, top_k: 5, messages: [{ role: 'user', content: 'Hello' }] };
  const explain = (endpoint: string) =>
    runCommand(['explain', '-', '--endpoint', endpoint, '--json'], { cwd, input: JSON.stringify(body) });
  const { code, stdout } = await explain('messages');
  assert.equal(code, 0);
  const said = JSON.parse(stdout) as Explained & { endpoint: string };
  assert.deepEqual([said.endpoint, said.cost], ['messages', 3]);
  const sent = Object.fromEntries(said.candidates.map(({ target, sent }) => [target, sent]));
  assert.deepEqual(sent['claude/claude-x'] && [sent['claude/claude-x'].answer, sent['claude/claude-x'].dropped], [
    'pass-through',
    null,
  ]);
  assert.deepEqual(sent['oai/gpt-x'] && [sent['oai/gpt-x'].answer, sent['oai/gpt-x'].dropped], ['converted', 'top_k']);
  const wrong = await explain('speeches');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stdout, /chat, messages, responses, embeddings/);
});

test('explain says of embeddings who would be asked, in how many calls, and what is wrong with a body', async (t) => {
  const cwd = temporaryFolder(t);
  const provider = (type: string) => ({ type, base_url: 'http://127.0.0.1:9/v1', api_key: 'k' });
  writeFileSync(
    join(cwd, 'culvert.yaml'),
    stringify({
      providers: { oai: provider('openai'), cohere: provider('cohere') },
      models: {
        docs: {
          type: 'embedding',
          space: 's',
          targets: [
            { provider: 'oai', model: 'm', batch: 2 },
            { provider: 'cohere', model: 'embed-v4.0', priority: 2 },
          ],
        },
      },
      costs: { embeddings: 2 },
    }),
  );
  const explain = async (body: object) => {
    const input = JSON.stringify({ model: 'docs', ...body });
    const { code, stdout } = await runCommand(['explain', '-', '--endpoint', 'embeddings', '--json'], { cwd, input });
    return { code, said: JSON.parse(stdout) as Explained };
  };
  const { code, said } = await explain({ input: ['a', 'b', 'c'], input_type: 'document' });
  assert.deepEqual([code, said.sent, said.model, said.cost, said.stream], [0, true, 'docs', 2, false]);
  assert.deepEqual(
    said.candidates.map(({ target, verdict, sent }) => [target, verdict, sent?.dialect, sent?.calls, sent?.dropped]),
    [
      ['oai/m', 'ready: picked', 'openai', 2, null],
      ['cohere/embed-v4.0', 'ready: asked if those before it fail', 'cohere', 1, null],
    ],
  );
  const mixed = await explain({ input: ['a', 5] });
  assert.deepEqual([mixed.code, mixed.said.error.code, mixed.said.error.param], [1, 400, 'input[1]']);
  // Cohere's format has no empty text: only a service of OpenAI's may judge it.
  const empty = await explain({ input: ['a', ''] });
  assert.deepEqual(
    empty.said.candidates.map(({ target }) => target),
    ['oai/m'],
  );
});
