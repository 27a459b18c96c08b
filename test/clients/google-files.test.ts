import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError, createPartFromUri, createUserContent, type File, GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { fileBytesMax } from '../../src/http/routes/files/file-calls.ts';
import { otherKey, startGateway, testProcesses } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's Files API by its own SDK, over the gateway's own files, and their use over a provider of each dialect. */

const { upstream, gateway } = await openThreeProviders();
const folder = await mkdtemp(join(tmpdir(), 'files-'));
after(() => rm(folder, { recursive: true }));
const options = { httpOptions: { baseUrl: gateway.url } };
const google = new GoogleGenAI({ apiKey: gateway.key, ...options });
const beta = new GoogleGenAI({ apiKey: gateway.key, apiVersion: 'v1beta', ...options });
const stranger = new GoogleGenAI({ apiKey: otherKey, ...options });
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });

const pdf = Buffer.from('%PDF-1.4\n1 0 obj << >> endobj\n%%EOF');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const upload = (content: Buffer | string, mimeType: string, displayName: string, client = google) =>
  client.files.upload({ file: new Blob([content], { type: mimeType }), config: { mimeType, displayName } });
const partOf = ({ uri, mimeType }: File) => createPartFromUri(uri!, mimeType!);
/** What the provider was sent last, as text. */
const sent = () => JSON.stringify(upstream.requests().findLast(({ method }) => method === 'POST')!.body);
const hasStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};

for (const client of [google, beta]) {
  test(`a file is uploaded, found, downloaded and deleted (${client === google ? 'v1' : 'v1beta'})`, async () => {
    const file = await upload('name,legs\npanda,4', 'text/csv', 'pandas.csv', client);
    assert.match(file.name!, /^files\/[0-9a-z]{25}$/);
    assert.deepEqual(
      [file.displayName, file.mimeType, file.sizeBytes, file.state, file.source],
      ['pandas.csv', 'text/csv', '17', 'ACTIVE', 'UPLOADED'],
    );
    assert.ok(Date.parse(file.expirationTime!) > Date.parse(file.createTime!));
    assert.equal(file.uri, `${gateway.url}/v1beta/${file.name}`);
    const found = await client.files.get({ name: file.name! });
    assert.deepEqual([found.name, found.uri, found.sizeBytes], [file.name, file.uri, '17']);
    const downloadPath = join(folder, file.name!.slice(6));
    await client.files.download({ file: file.name!, downloadPath });
    assert.equal(await readFile(downloadPath, 'utf8'), 'name,legs\npanda,4');
    await client.files.delete({ name: file.name! });
    await assert.rejects(client.files.get({ name: file.name! }), hasStatus(404, /There is no file.*NOT_FOUND/s));
  });
}

test('a file of several pieces is whole, and OpenAI’s clients have it too', async () => {
  const content = Buffer.alloc(9 * 1024 * 1024 + 5, 'a piece of it ');
  const { name, sizeBytes } = await upload(content, 'text/plain', 'large.txt');
  assert.equal(sizeBytes, String(content.length));
  const id = name!.replace('files/', 'file-');
  const { filename, bytes } = await openai.files.retrieve(id);
  assert.deepEqual([filename, bytes], ['large.txt', content.length]);
  const read = Buffer.from(await (await openai.files.content(id)).arrayBuffer());
  assert.ok(read.equals(content));
  await google.files.delete({ name: name! });
});

test('files are listed by pages, and those of another key are unknown', async () => {
  for await (const { name } of await google.files.list()) await google.files.delete({ name: name! });
  const names: string[] = [];
  for (const one of ['a', 'b', 'c']) names.push((await upload(one, 'text/plain', one)).name!);
  const found: string[] = [];
  for await (const { name } of await google.files.list({ config: { pageSize: 2 } })) found.push(name!);
  assert.deepEqual(found, names.toReversed());
  assert.equal((await stranger.files.list()).page.length, 0);
  await assert.rejects(stranger.files.get({ name: names[0]! }), hasStatus(404, /NOT_FOUND/));
  await assert.rejects(stranger.files.delete({ name: names[0]! }), hasStatus(404, /NOT_FOUND/));
  await assert.rejects(google.files.list({ config: { pageSize: 1_000 } }), hasStatus(400, /pageSize/));
});

for (const model of Object.keys(models)) {
  test(`${model}: files go to the provider with their content`, async () => {
    const files = [
      await upload(pdf, 'application/pdf', 'a.pdf'),
      await upload(png, 'image/png', 'b.png'),
      await upload('# Pändas', 'text/markdown', 'c.md'),
    ];
    const contents = createUserContent(['What is this?', ...files.map(partOf)]);
    const answer = await google.models.generateContent({ model, contents });
    assert.ok(answer.text);
    const body = sent();
    assert.ok(body.includes(pdf.toString('base64')) && body.includes(png.toString('base64')));
    assert.ok(body.includes('# Pändas') || body.includes(Buffer.from('# Pändas').toString('base64')));
    for (const { name } of files) assert.ok(!body.includes(name!.slice(6)));
    const stream = await google.models.generateContentStream({ model, contents });
    let text = '';
    for await (const chunk of stream) text += chunk.text ?? '';
    assert.equal(text, answer.text);
    // The name alone names it as well.
    const named = [{ fileData: { fileUri: files[1]!.name!, mimeType: 'image/png' } }];
    await google.models.generateContent({ model, contents: [{ role: 'user', parts: named }] });
    assert.ok(sent().includes(png.toString('base64')));
  });

  test(`${model}: another key’s file is unknown`, async () => {
    const file = await upload(png, 'image/png', 'b.png');
    const request = { model, contents: createUserContent(['What?', partOf(file)]) };
    await assert.rejects(stranger.models.generateContent(request), hasStatus(404, /fileUri.*not found/s));
  });
}

test('a sound goes to models that listen', async () => {
  const sound = await upload(Buffer.from([1, 2, 3, 0, 255]), 'audio/wav', 'hm.wav');
  for (const model of ['google', 'chat']) {
    await google.models.generateContent({ model, contents: createUserContent(['Who speaks?', partOf(sound)]) });
    assert.ok(sent().includes(Buffer.from([1, 2, 3, 0, 255]).toString('base64')), model);
  }
});

test('a video goes to Google, and models that take none say so', async () => {
  const video = await upload(Buffer.from([0, 0, 0, 1, 255]), 'video/mp4', 'v.mp4');
  const contents = createUserContent(['What happens?', partOf(video)]);
  await google.models.generateContent({ model: 'google', contents });
  assert.match(sent(), /"mimeType":"video\/mp4"/);
  await assert.rejects(google.models.generateContent({ model: 'claude', contents }), hasStatus(400, /contents\[0\]/));
});

test('a file that OpenAI’s client uploaded is found by its name', async () => {
  const { id } = await openai.files.create({
    file: await OpenAI.toFile(Buffer.from('panda,4'), 'p.csv'),
    purpose: 'user_data',
  });
  const file = await google.files.get({ name: id.replace('file-', 'files/') });
  assert.deepEqual([file.displayName, file.sizeBytes], ['p.csv', '7']);
});

interface Step {
  command: string;
  offset?: number;
  body?: Buffer | string;
  key?: string;
}
const headersOf = ({ command, offset = 0, key = gateway.key }: Step) => ({
  authorization: `Bearer ${key}`,
  'x-goog-upload-command': command,
  'x-goog-upload-offset': String(offset),
});

async function begin(over: Pick<typeof gateway, 'fetch'> = gateway): Promise<string> {
  const response = await over.fetch('/upload/v1beta/files', {
    json: { file: { display_name: 'steps.txt' } },
    headers: { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' },
  });
  assert.equal(response.status, 200, await response.text());
  assert.equal(response.headers.get('x-goog-upload-status'), 'active');
  const url = new URL(response.headers.get('x-goog-upload-url')!);
  return url.pathname + url.search;
}
const send = (path: string, step: Step, over: Pick<typeof gateway, 'fetch'> = gateway) =>
  over.fetch(path, { method: 'POST', body: step.body ?? '', headers: headersOf(step) });

test('an upload that broke off goes on behind what is kept', async () => {
  const path = await begin();
  assert.equal((await send(path, { command: 'upload', body: 'one ' })).headers.get('x-goog-upload-status'), 'active');
  const wrong = await send(path, { command: 'upload', body: 'two', offset: 9 });
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /4 bytes so far/);
  const asked = await send(path, { command: 'query' });
  assert.equal(asked.headers.get('x-goog-upload-size-received'), '4');
  assert.equal((await send(path, { command: 'query', key: otherKey })).status, 404);
  const ended = await send(path, { command: 'upload, finalize', body: 'two', offset: 4 });
  assert.equal(ended.headers.get('x-goog-upload-status'), 'final');
  const { file } = (await ended.json()) as { file: { name: string; sizeBytes: string; displayName: string } };
  assert.deepEqual([file.sizeBytes, file.displayName], ['7', 'steps.txt']);
  const content = await gateway.fetch(`/v1beta/${file.name}:download?alt=media`);
  assert.equal(await content.text(), 'one two');
  assert.equal((await send(path, { command: 'query' })).status, 404);
});

test('the address of an upload needs no key, and opens nothing else', async () => {
  const path = await begin();
  const keyless = (to: string, command: string, body = '') =>
    fetch(gateway.url + to, { method: 'POST', body, headers: { 'x-goog-upload-command': command } });
  const other = new URLSearchParams((await begin()).split('?')[1]).get('upload_id')!;
  const own = new URLSearchParams(path.split('?')[1]).get('upload_id')!;
  for (const wrong of [
    path.replace(own, other),
    path.replace(/upload_ticket=./, 'upload_ticket=x'),
    '/upload/v1/files',
  ]) {
    assert.equal((await keyless(wrong, 'query')).status, 401, wrong);
  }
  const ended = await keyless(path, 'upload, finalize', 'content');
  assert.equal(ended.headers.get('x-goog-upload-status'), 'final');
  assert.equal((await keyless(path, 'query')).status, 404);
  assert.equal((await fetch(`${gateway.url}/v1beta/files?${path.split('?')[1]}`)).status, 401);
});

test('a cancelled upload is gone, and nobody finds an unfinished one', async () => {
  const path = await begin();
  await send(path, { command: 'upload', body: 'x' });
  const id = new URLSearchParams(path.split('?')[1]).get('upload_id')!;
  assert.equal((await gateway.fetch(`/v1/files/${id}`)).status, 404);
  assert.equal((await send(path, { command: 'cancel' })).headers.get('x-goog-upload-status'), 'cancelled');
  assert.equal((await send(path, { command: 'upload, finalize', offset: 1 })).status, 404);
});

test('an upload that nobody finishes goes after a day, and not before', async (t) => {
  const storage = { data_dir: temporaryFolder(t) };
  const before = await startGateway(t, { storage });
  const hoursOld = [23.9, 24.1];
  const paths: string[] = [];
  for (const _ of hoursOld) paths.push(await begin(before));
  for (const path of paths) await send(path, { command: 'upload', body: 'one ' }, before);
  await before.close(0);
  const database = new DatabaseSync(join(storage.data_dir, 'batches.db'));
  const age = database.prepare('UPDATE stored_file SET created_ms = created_ms - ? WHERE id = ?');
  for (const [at, path] of paths.entries()) {
    const id = new URLSearchParams(path.split('?')[1]).get('upload_id')!;
    assert.equal(age.run(hoursOld[at]! * 3_600_000, id).changes, 1);
  }
  database.close();
  // It looks for old ones at its start.
  const next = await startGateway(t, { storage });
  const [young, old] = paths as [string, string];
  while ((await send(old, { command: 'query' }, next)).status !== 404) await pause(20);
  const ended = await send(young, { command: 'upload, finalize', body: 'two', offset: 4 }, next);
  assert.equal(ended.status, 200, await ended.clone().text());
  const { file } = (await ended.json()) as { file: File };
  assert.equal(await (await next.fetch(`/v1beta/${file.name}:download?alt=media`)).text(), 'one two');
});

test('other protocols and names of files are refused, with what to do', async () => {
  for (const [headers, json, field] of [
    [{}, {}, /X-Goog-Upload-Protocol: resumable/],
    [{ 'x-goog-upload-protocol': 'raw' }, {}, /X-Goog-Upload-Protocol: resumable/],
    [{ 'x-goog-upload-command': 'start' }, { file: { name: 'files/mine' } }, /file\.name/],
    [{ 'x-goog-upload-command': 'start' }, { file: 1 }, /'file' must be an object/],
  ] as const) {
    const response = await gateway.fetch('/upload/v1beta/files', {
      json,
      headers: { 'x-goog-upload-protocol': 'resumable', ...headers },
    });
    assert.equal(response.status, 400);
    assert.match(await response.text(), field);
  }
  for (const [bytes, status] of [
    [fileBytesMax, 200],
    [fileBytesMax + 1, 413],
  ]) {
    const announced = await gateway.fetch('/upload/v1beta/files', {
      json: {},
      headers: {
        'x-goog-upload-protocol': 'resumable',
        'x-goog-upload-command': 'start',
        'x-goog-upload-header-content-length': String(bytes),
      },
    });
    assert.equal(announced.status, status);
  }
  const headers = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' };
  for (const [declared, status] of [
    ['3', 413],
    ['5', 200],
    ['x', 200],
  ] as const) {
    const begun = await gateway.fetch('/upload/v1beta/files', {
      json: {},
      headers: { ...headers, 'x-goog-upload-header-content-length': declared },
    });
    const ended = await fetch(begun.headers.get('x-goog-upload-url')!, {
      method: 'POST',
      headers: { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' },
      body: 'hello',
    });
    assert.equal(ended.status, status, `${declared}: ${await ended.text()}`);
  }
});

test('the start of an upload keeps its name where its body comes in chunks, without a length', async () => {
  const begun = await fetch(`${gateway.url}/upload/v1beta/files`, {
    method: 'POST',
    headers: {
      'x-goog-api-key': gateway.key,
      'content-type': 'application/json',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
    },
    body: new Blob([JSON.stringify({ file: { displayName: 'chunked.txt' } })]).stream(),
    duplex: 'half',
  } as RequestInit);
  assert.equal(begun.status, 200, await begun.clone().text());
  const sentTo = begun.headers.get('x-goog-upload-url') ?? '';
  const headers = { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' };
  const done = await fetch(sentTo, { method: 'POST', headers, body: 'some text' });
  const { file } = (await done.json()) as { file: { name: string; displayName: string } };
  assert.equal(file.displayName, 'chunked.txt');
  await google.files.delete({ name: file.name });
});

test('an upload is not cancelled while its bytes come, and leaves none once it is', async () => {
  // Of a key that has none: another worker counts what others wrote a moment later.
  const used = async () => {
    const usage = await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${otherKey}` } });
    return ((await usage.json()) as { storage: { files?: number } }).storage.files ?? 0;
  };
  const start = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' };
  const begun = await fetch(`${gateway.url}/upload/v1beta/files`, {
    method: 'POST',
    headers: { 'x-goog-api-key': otherKey, ...start },
  });
  const address = begun.headers.get('x-goog-upload-url') ?? '';
  const command = (name: string, body?: ReadableStream) =>
    fetch(address, {
      method: 'POST',
      headers: { 'x-goog-upload-command': name, 'x-goog-upload-offset': '0' },
      ...(body !== undefined && { body, duplex: 'half' }),
    } as RequestInit);
  const { readable, writable } = new TransformStream<Uint8Array>();
  const writer = writable.getWriter();
  const sending = command('upload', readable);
  await writer.write(Buffer.alloc(1024 * 1024 + 1));
  const received = async () => Number((await command('query')).headers.get('x-goog-upload-size-received'));
  while ((await received()) === 0) await pause(20);
  // Another worker does not see what comes to this one: the upload is gone, and what comes is refused.
  const early = (await command('cancel')).status;
  assert.ok(early === 409 || (early === 200 && testProcesses > 1), String(early));
  await writer.close();
  const isGone = early === 200;
  assert.equal((await sending).status, isGone ? 409 : 200);
  assert.equal((await command('cancel')).status, isGone ? 404 : 200);
  await until('nothing is left', async () => (await used()) === 0);
});
