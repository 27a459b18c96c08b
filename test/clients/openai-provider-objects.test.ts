import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import OpenAI, { APIError, NotFoundError } from 'openai';
import { listening } from '../listening.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';

/* Containers, evals, fine-tuning, skills and stored chat completions of a provider, by OpenAI's own SDK: each key sees its own. */

const secret = 'sk-upstream-canary-0123456789ab';

type Row = Record<string, unknown> & { id: string };
interface Asked {
  method: string;
  path: string;
  type: string;
  body: string;
  authorization: string;
}
/** All objects of the account, the newest first. */
const rows = new Map<string, Row[]>();
const asked: Asked[] = [];
let count = 0;

const upstream = createServer(async (incoming, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  answer(incoming, Buffer.concat(chunks).toString('latin1'), response);
});

function answer({ method = '', url = '', headers }: IncomingMessage, body: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://upstream');
  const path = pathname.replace('/v1', '');
  if (path === '/models')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
  asked.push({ method, path, type: headers['content-type'] ?? '', body, authorization: headers.authorization ?? '' });
  const json = (status: number, value: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (path.endsWith('/content')) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(Buffer.from([0, 255, 1]));
    return;
  }
  const [, root = path, id, rest] =
    /^(\/fine_tuning\/jobs|\/chat\/completions|\/files|\/containers|\/evals|\/skills)(?:\/([^/]+))?(\/.*)?$/.exec(
      path,
    ) ?? [];
  const all = rows.get(root) ?? [];
  if (root === '/files' && body.includes('filename="broken.')) {
    return void json(400, {
      error: { message: `Line 1 has no messages (key ${secret})`, type: 'invalid_request_error' },
    });
  }
  if (id === undefined && method === 'POST') {
    const given = headers['content-type']?.startsWith('application/json') ? (JSON.parse(body) as object) : {};
    count += 1;
    const row: Row = { ...given, id: `${root.split('/').at(-1)}_${count}`, key: secret, created_at: count };
    if (root === '/chat/completions') {
      row.choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }];
      row.object = 'chat.completion';
      row.usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    }
    if (root === '/fine_tuning/jobs') {
      row.fine_tuned_model = `ft:gpt-5-mini:org::${count}`;
      row.result_files = [`file-results${count}`];
      rows.set('/files', [{ id: `file-results${count}`, object: 'file', key: secret }, ...(rows.get('/files') ?? [])]);
    }
    rows.set(root, [row, ...all]);
    return void json(200, row);
  }
  if (id === undefined) {
    const from = all.findIndex((row) => row.id === searchParams.get('after')) + 1;
    const limit = Number(searchParams.get('limit') ?? 20);
    const data = all.slice(from, from + limit);
    return void json(200, { object: 'list', data, has_more: from + limit < all.length });
  }
  const row = all.find((one) => one.id === id);
  if (row === undefined) return void json(404, { error: { message: `No such object: ${id}`, type: 'not_found' } });
  if (method === 'DELETE' && rest === undefined) {
    rows.set(
      root,
      all.filter((one) => one !== row),
    );
    return void json(200, { id, deleted: true });
  }
  json(200, rest === undefined ? row : { object: 'list', data: [{ id: `part_of_${id}` }], has_more: false });
}

const base_url = `${await listening({ after }, upstream)}/v1`;
const object_apis = ['chat_completions', 'containers', 'evals', 'fine_tuning', 'skills'];
const fewKey = 'sk-cv-test-key-0005';
const config = (closed: object = {}) => ({
  providers: {
    closed: { type: 'openai', base_url, api_key: 'sk-closed-0123456789', ...closed },
    up: { type: 'openai', base_url, api_key: secret, object_apis, shared_objects: ['file-handbook'] },
  },
  models: { chat: { targets: ['up/gpt-5-mini'] } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
    { key: fewKey, account: 'dev', name: 'few', models: ['chat'] },
  ],
});
const gateway = await startGateway({ after: after as never }, config());
const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const [mine, theirs] = [clientOf(testKey), clientOf(otherKey)];

test('each key sees its containers, and the others get what an unknown one gets', async () => {
  const made = await mine.containers.create({ name: 'sums' });
  await theirs.containers.create({ name: 'theirs' });
  assert.equal((await mine.containers.retrieve(made.id)).id, made.id);
  const listed: string[] = [];
  for await (const { name } of mine.containers.list()) listed.push(name);
  assert.deepEqual(listed, ['sums']);
  const file = await mine.containers.files.create(made.id, {
    file: new File(['1,2'], 'a "b".csv', { type: 'text/csv' }),
  });
  assert.equal(file.object, 'list');
  const { type, body } = asked.at(-1)!;
  assert.match(type, /^multipart\/form-data; boundary=culvert-/);
  assert.match(body, /name="file"; filename="a %22b%22.csv"\r\ncontent-type: text\/csv\r\n\r\n1,2\r\n/i);
  const content = await mine.containers.files.content.retrieve('cfile_1', { container_id: made.id });
  assert.deepEqual(new Uint8Array(await content.arrayBuffer()), new Uint8Array([0, 255, 1]));

  asked.length = 0;
  const unknown = await errorOf(theirs.containers.retrieve('cntr_nobody'));
  assert.deepEqual(await errorOf(theirs.containers.retrieve(made.id)), unknown);
  assert.deepEqual(await errorOf(theirs.containers.delete(made.id)), unknown);
  await assert.rejects(theirs.containers.files.list(made.id), NotFoundError);
  await assert.rejects(theirs.containers.files.content.retrieve('cfile_1', { container_id: made.id }), NotFoundError);
  assert.deepEqual(asked, [], 'the provider is not asked');
  // A part of it that is deleted leaves it there.
  await mine.containers.files.delete('cfile_1', { container_id: made.id });
  assert.equal((await mine.containers.retrieve(made.id)).id, made.id);
  await mine.containers.delete(made.id);
  asked.length = 0;
  await assert.rejects(mine.containers.retrieve(made.id), NotFoundError);
  assert.deepEqual(asked, [], 'its id is forgotten');
});

test('an id of other characters is nobody’s, however it is written', async () => {
  const { id } = await mine.containers.create({ name: 'paths' });
  asked.length = 0;
  for (const path of [`${id}%2F..%2Fother`, `${id}%252Ffiles`, `..%2f${id}`, `${id}%00`, `${id}%3Fx=1`, `${id};x`]) {
    const answer = await gateway.fetch(`/v1/containers/${path}`);
    assert.equal(answer.status, 404, path);
    await answer.arrayBuffer();
  }
  assert.deepEqual(asked, []);
});

test('a list goes on behind the objects of other keys, page by page', async () => {
  for (let at = 0; at < 3; at += 1) await mine.evals.create({ name: `mine ${at}`, ...criteria });
  for (let at = 0; at < 130; at += 1) rows.get('/evals')!.unshift({ id: `evals_foreign_${at}`, name: 'foreign' });
  await mine.evals.create({ name: 'mine 3', ...criteria });
  const page = await mine.evals.list({ limit: 2 });
  assert.deepEqual(
    page.data.map(({ name }) => name),
    ['mine 3', 'mine 2'],
  );
  assert.equal(page.has_more, true);
  const all: (string | undefined)[] = [];
  for await (const { name } of mine.evals.list({ limit: 2 })) all.push(name);
  assert.deepEqual(all, ['mine 3', 'mine 2', 'mine 1', 'mine 0']);
  assert.deepEqual((await theirs.evals.list()).data, []);
  const foreign = await errorOf(theirs.evals.list({ after: page.data[0]!.id }));
  assert.equal(foreign.status, 404);
  assert.equal((await errorOf(mine.evals.list({ limit: 0 }))).status, 400);
});

test('a file of /v1/files is uploaded to the provider for the job that names it', async () => {
  const file = await mine.files.create({ file: new File(['{"a":1}\n'], 'rows.jsonl'), purpose: 'fine-tune' });
  asked.length = 0;
  const job = await mine.fineTuning.jobs.create({ model: 'gpt-5-mini', training_file: file.id });
  const [upload, create] = asked;
  assert.equal(upload!.path, '/files');
  assert.match(upload!.body, /name="purpose"\r\n\r\nfine-tune/);
  assert.match(upload!.body, /\{"a":1\}\n/);
  assert.match(job.training_file, /^files_\d+$/);
  assert.equal((JSON.parse(create!.body) as { training_file: string }).training_file, job.training_file);
  assert.deepEqual(
    asked.map(({ authorization }) => authorization),
    [`Bearer ${secret}`, `Bearer ${secret}`],
  );

  const again = { model: 'gpt-5-mini', training_file: job.training_file };
  await mine.fineTuning.jobs.create(again);
  for (const training_file of [file.id, job.training_file]) {
    const refused = await errorOf(theirs.fineTuning.jobs.create({ ...again, training_file }));
    assert.deepEqual([refused.status, refused.param], [404, 'training_file']);
  }
  await theirs.fineTuning.jobs.create({ ...again, training_file: 'file-handbook' });

  const tuned = { ...again, model: job.fine_tuned_model! };
  await mine.fineTuning.jobs.create(tuned);
  const refused = await errorOf(theirs.fineTuning.jobs.create({ ...tuned, training_file: 'file-handbook' }));
  assert.deepEqual([refused.status, refused.param], [404, 'model']);
  await mine.fineTuning.jobs.cancel(job.id);
  await assert.rejects(theirs.fineTuning.jobs.listEvents(job.id), NotFoundError);
});

test('why a provider does not take a file is in the error, without its secret', async () => {
  const file = await mine.files.create({ file: new File(['{"a":1}\n'], 'broken.jsonl'), purpose: 'fine-tune' });
  const refused = await errorOf(mine.fineTuning.jobs.create({ model: 'gpt-5-mini', training_file: file.id }));
  assert.equal(refused.status, 502);
  assert.match(refused.message, /400: Line 1 has no messages/);
  assert.ok(!refused.message.includes(secret));
});

test('the files of results of a fine-tuning are read by the key that began it, and by no other', async () => {
  const job = await mine.fineTuning.jobs.create({ model: 'gpt-5-mini', training_file: 'file-handbook' });
  const [result] = job.result_files;
  asked.length = 0;
  const content = await mine.files.content(result!);
  assert.deepEqual([...new Uint8Array(await content.arrayBuffer())], [0, 255, 1]);
  assert.equal((await mine.files.retrieve(result!)).id, result);
  assert.deepEqual(
    asked.map(({ method, path, authorization }) => [method, path, authorization]),
    [
      ['GET', `/files/${result}/content`, `Bearer ${secret}`],
      ['GET', `/files/${result}`, `Bearer ${secret}`],
    ],
  );
  asked.length = 0;
  await assert.rejects(theirs.files.content(result!), NotFoundError);
  await assert.rejects(theirs.files.retrieve(result!), NotFoundError);
  await assert.rejects(mine.files.content('file-of-nobody'), NotFoundError);
  assert.deepEqual(asked, []);
});

test('a request that names objects of two providers is refused, and says which', async (t) => {
  const tuned = async (files: { training_file: string; validation_file?: string }) =>
    mine.fineTuning.jobs.create({ model: 'gpt-5-mini', ...files });
  const first = (await tuned({ training_file: 'file-handbook' })).result_files[0]!;
  t.after(() => gateway.reload(config()));
  await gateway.reload(config({ object_apis, shared_objects: ['file-manual'] }));
  const second = (await tuned({ training_file: 'file-manual' })).result_files[0]!;
  asked.length = 0;
  const refused = await errorOf(tuned({ training_file: first, validation_file: second }));
  assert.deepEqual([refused.status, refused.param], [400, 'validation_file']);
  assert.match(refused.message, /'training_file' and 'validation_file' name objects of two accounts/);
  assert.deepEqual(asked, []);
  await tuned({ training_file: first });
  await tuned({ training_file: second });
  assert.deepEqual(
    asked.map(({ authorization }) => authorization),
    [`Bearer ${secret}`, 'Bearer sk-closed-0123456789'],
  );
});

test('an eval may not read what all keys have stored at the provider', async () => {
  const { id } = await mine.evals.create({ name: 'runs', ...criteria });
  asked.length = 0;
  for (const type of ['stored_completions', 'responses'] as const) {
    const refused = await errorOf(
      mine.evals.runs.create(id, {
        data_source: { type: 'completions', source: { type } } as never,
      }),
    );
    assert.equal(refused.status, 400);
    assert.match(refused.message, /every key here/);
  }
  await assert.rejects(
    mine.evals.create({ data_source_config: { type: 'stored_completions' }, testing_criteria: [] }),
    APIError,
  );
  assert.deepEqual(asked, []);
  await mine.evals.runs.create(id, {
    data_source: { type: 'jsonl', source: { type: 'file_id', id: 'file-handbook' } },
  });
  const stranger = await errorOf(
    theirs.evals
      .create({ name: 'x', ...criteria })
      .then((own) =>
        theirs.evals.runs.create(own.id, { data_source: { type: 'jsonl', source: { type: 'file_id', id: 'file-x' } } }),
      ),
  );
  assert.deepEqual([stranger.status, stranger.param], [404, 'data_source.source.id']);
});

test('a chat with store: true can be read, changed and deleted later, by its key alone', async () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const kept = await mine.chat.completions.create({ model: 'chat', messages, store: true });
  assert.equal((await mine.chat.completions.retrieve(kept.id)).id, kept.id);
  await mine.chat.completions.update(kept.id, { metadata: { topic: 'hello' } });
  await mine.chat.completions.messages.list(kept.id);
  assert.deepEqual(
    (await mine.chat.completions.list()).data.map(({ id }) => id),
    [kept.id],
  );
  await assert.rejects(theirs.chat.completions.retrieve(kept.id), NotFoundError);
  assert.deepEqual((await theirs.chat.completions.list()).data, []);
  const other = await mine.chat.completions.create({ model: 'chat', messages });
  await assert.rejects(mine.chat.completions.retrieve(other.id), NotFoundError);
  await mine.chat.completions.delete(kept.id);
});

test('a skill comes as a form, whose fields may name nobody else’s objects', async () => {
  const made = await mine.skills.create({ files: [new File(['---\nname: sums\n---'], 'sums/SKILL.md')] });
  await mine.skills.versions.list(made.id);
  await assert.rejects(theirs.skills.retrieve(made.id), NotFoundError);
  const container = await mine.containers.create({ name: 'forms' });
  for (const name of ['file_id', 'FILE_ID', 'file_id[]']) {
    const form = new FormData();
    form.set(name, 'file-of-somebody');
    const answer = await fetch(`${gateway.url}/v1/containers/${container.id}/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    });
    assert.equal(answer.status, 404, name);
  }
});

test('a call has a row in the ledger, costs a unit where it makes something, and shows no secret', async () => {
  const made = await mine.containers.create({ name: 'rows' }).asResponse();
  const text = await made.text();
  assert.ok(!text.includes(secret), text);
  assert.equal(made.headers.get('x-culvert-cost'), '1');
  const { id } = JSON.parse(text) as { id: string };
  const looked = await mine.containers.retrieve(id).asResponse();
  for (const [answer, units] of [
    [made, 1],
    [looked, 0],
  ] as const) {
    const record = await gateway.fetch(`/admin/v1/requests/${answer.headers.get('x-culvert-request-id')}`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const row = (await record.json()) as Record<string, unknown>;
    assert.deepEqual(
      [row.endpoint, row.model, row.status, row.class, row.units],
      ['provider-objects', 'passthrough/up', 200, 'ok', units],
    );
  }
});

test('a key needs the provider among its models, and a closed API says who opens it', async () => {
  const few = await errorOf(clientOf(fewKey).containers.list());
  assert.equal(few.status, 403);
  assert.match(few.message, /passthrough\/up/);
  const shut = await startGateway(
    { after: after as never },
    { providers: { up: { type: 'openai', base_url, api_key: secret, object_apis: ['skills'] } } },
  );
  const client = new OpenAI({ apiKey: testKey, baseURL: `${shut.url}/v1`, maxRetries: 0 });
  const refused = await errorOf(client.containers.list());
  assert.equal(refused.status, 404);
  assert.match(refused.message, /object_apis: \[containers\]/);
});

const criteria = {
  data_source_config: { type: 'custom' as const, item_schema: { type: 'object', properties: { id: {} } } },
  testing_criteria: [],
};

async function errorOf(call: Promise<unknown>): Promise<{ status: number; message: string; param: unknown }> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof APIError, String(error));
  return { status: error.status as number, message: error.message.replace(/ \(request id .*/, ''), param: error.param };
}
