import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ApiError, type BatchJob, GoogleGenAI, JobState } from '@google/genai';
import { otherKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's `batches` by its own SDK, over a provider of each dialect. */

const { gateway } = await openThreeProviders({
  'embed-openai': { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  'embed-google': { type: 'embedding', targets: ['google/gemini-embedding-001'] },
});
const folder = await mkdtemp(join(tmpdir(), 'batches-'));
after(() => rm(folder, { recursive: true }));
const options = { httpOptions: { baseUrl: gateway.url } };
const google = new GoogleGenAI({ apiKey: gateway.key, ...options });
const beta = new GoogleGenAI({ apiKey: gateway.key, apiVersion: 'v1beta', ...options });
const stranger = new GoogleGenAI({ apiKey: otherKey, ...options });
const hasStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};
const ends = new Set<JobState | undefined>([
  JobState.JOB_STATE_SUCCEEDED,
  JobState.JOB_STATE_FAILED,
  JobState.JOB_STATE_CANCELLED,
]);

async function ended({ name }: BatchJob, client = google): Promise<BatchJob> {
  let job: BatchJob = {};
  await until('the batch has ended', async () => {
    job = await client.batches.get({ name: name! });
    return ends.has(job.state);
  });
  return job;
}
const contentsOf = (text: string) => [{ role: 'user', parts: [{ text }] }];

for (const model of Object.keys(models)) {
  test(`${model}: requests in the call are answered in their order, with their metadata`, async () => {
    const begun = await google.batches.create({
      model,
      src: [
        { contents: contentsOf('first words'), metadata: { place: 'one' }, config: { systemInstruction: 'Be brief.' } },
        { contents: contentsOf('second words') },
        { contents: contentsOf('too short'), config: { maxOutputTokens: -1 } },
      ],
      config: { displayName: 'three' },
    });
    assert.match(begun.name!, /^batches\/genbatch_/);
    assert.deepEqual([begun.displayName, begun.model], ['three', `models/${model}`]);
    const job = await ended(begun);
    assert.equal(job.state, JobState.JOB_STATE_SUCCEEDED);
    const [first, second, third] = job.dest!.inlinedResponses!;
    assert.match(first!.response!.candidates![0]!.content!.parts!.at(-1)!.text!, /first words/);
    assert.deepEqual(first!.metadata, { place: 'one' });
    assert.match(second!.response!.candidates![0]!.content!.parts!.at(-1)!.text!, /second words/);
    assert.match(String(third!.error!.message), /maxOutputTokens/);
    assert.ok(Date.parse(job.endTime!) >= Date.parse(job.createTime!));
  });

  test(`${model}: a file of requests becomes a file of answers`, async () => {
    const lines = [
      { key: 'a', request: { contents: contentsOf('alpha') } },
      { key: 'b', request: { contents: 5 } },
      { key: 'c', request: { contents: contentsOf('gamma') } },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const file = new Blob([text], { type: 'application/jsonl' });
    const { name } = await beta.files.upload({ file, config: { mimeType: 'application/jsonl', displayName: 'in' } });
    const job = await ended(await beta.batches.create({ model, src: name! }), beta);
    const downloadPath = join(folder, model);
    await beta.files.download({ file: job.dest!.fileName!, downloadPath });
    const answers = (await readFile(downloadPath, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      answers.map(({ key }) => key),
      ['a', 'b', 'c'],
    );
    assert.match(JSON.stringify(answers[0].response.candidates), /alpha/);
    assert.deepEqual([answers[1].error.status, answers[1].response], ['INVALID_ARGUMENT', undefined]);
    assert.match(JSON.stringify(answers[2].response.candidates), /gamma/);
  });
}

for (const model of ['embed-openai', 'embed-google']) {
  test(`${model}: embeddings of texts in the call come in their order`, async () => {
    const begun = await google.batches.createEmbeddings({
      model,
      src: { inlinedRequests: { contents: ['first words', 'second words'], config: { outputDimensionality: 16 } } },
      config: { displayName: 'two' },
    });
    assert.deepEqual([begun.displayName, begun.model], ['two', `models/${model}`]);
    const job = await ended(begun);
    assert.equal(job.state, JobState.JOB_STATE_SUCCEEDED);
    const rows = job.dest!.inlinedEmbedContentResponses!.map(({ response }) => response!);
    const embed = (contents: string) =>
      google.models.embedContent({ model, contents, config: { outputDimensionality: 16 } });
    for (const [at, text] of ['first words', 'second words'].entries()) {
      const { embeddings } = await embed(text);
      assert.equal(rows[at]!.embedding!.values!.length, 16);
      assert.deepEqual(rows[at]!.embedding!.values, embeddings![0]!.values);
      assert.ok(Number(rows[at]!.tokenCount) > 0);
    }
  });

  test(`${model}: a file of texts becomes a file of embeddings`, async () => {
    const lines = [
      { key: 'a', request: { content: { parts: [{ text: 'alpha' }] }, output_dimensionality: 16 } },
      { key: 'b', request: { content: { parts: [] } } },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const { name } = await beta.files.upload({
      file: new Blob([text], { type: 'application/jsonl' }),
      config: { mimeType: 'application/jsonl' },
    });
    const job = await ended(await beta.batches.createEmbeddings({ model, src: { fileName: name! } }), beta);
    const downloadPath = join(folder, model);
    await beta.files.download({ file: job.dest!.fileName!, downloadPath });
    const [first, second] = (await readFile(downloadPath, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([first.key, first.response.embedding.values.length], ['a', 16]);
    assert.match(second.error.message, /content/);
  });
}

test('a batch of embeddings names its kind, and a model that chats fails its lines', async () => {
  const json = { batch: { inputConfig: { requests: { requests: [{ request: { content: { parts: [] } } }] } } } };
  const response = await gateway.fetch('/v1beta/models/chat:asyncBatchEmbedContent', { json });
  const operation = (await response.json()) as { name: string; metadata: Record<string, string> };
  assert.match(operation.metadata['@type']!, /EmbedContentBatch$/);
  const job = await ended({ name: operation.name });
  assert.match(String(job.dest!.inlinedResponses![0]!.error!.message), /content/);
});

test('batches are listed, cancelled and deleted, and those of another key are unknown', async () => {
  const { name } = await ended(await google.batches.create({ model: 'chat', src: [{ contents: contentsOf('x') }] }));
  const names: string[] = [];
  for await (const job of await google.batches.list({ config: { pageSize: 2 } })) names.push(job.name!);
  assert.ok(names.length >= 7 && names.includes(name!));
  assert.equal(new Set(names).size, names.length);
  assert.equal((await stranger.batches.list()).page.length, 0);
  await assert.rejects(stranger.batches.get({ name: name! }), hasStatus(404, /There is no batch/));
  await assert.rejects(stranger.batches.cancel({ name: name! }), hasStatus(404, /There is no batch/));
  await assert.rejects(stranger.batches.delete({ name: name! }), hasStatus(404, /There is no batch/));
  await google.batches.cancel({ name: name! });
  const results = `${name!.replace('batches/', '')}_results.jsonl`;
  const filesOf = async () => (await gateway.fetch('/v1/files')).text();
  assert.ok((await filesOf()).includes(results));
  await google.batches.delete({ name: name! });
  assert.ok(!(await filesOf()).includes(results), 'its results go with it');
  await assert.rejects(google.batches.get({ name: name! }), hasStatus(404, /There is no batch/));
});

test('OpenAI’s batches of the same path are as they were', async () => {
  const response = await fetch(`${gateway.url}/v1/batches`, { headers: { authorization: `Bearer ${gateway.key}` } });
  assert.deepEqual([response.status, ((await response.json()) as { object: string }).object], [200, 'list']);
});

test('bad batches are refused, naming the field', async () => {
  const requests = (...all: unknown[]) => ({ batch: { inputConfig: { requests: { requests: all } } } });
  for (const [model, json, status, field] of [
    ['chat', {}, 400, /batch\.inputConfig/],
    ['chat', requests(), 400, /requests\.requests/],
    ['chat', requests(1), 400, /requests\[0\]\.request/],
    ['chat', { batch: { inputConfig: { fileName: 'files/nope' } } }, 400, /fileName/],
    ['chat', { batch: { inputConfig: { fileName: `files/${'0'.repeat(25)}` } } }, 400, /fileName|There is no file/],
    ['nope', requests({ request: {} }), 404, /nope/],
  ] as const) {
    const response = await gateway.fetch(`/v1beta/models/${model}:batchGenerateContent`, { json });
    const text = await response.text();
    assert.equal(response.status, status, text);
    assert.match(text, field);
  }
});
