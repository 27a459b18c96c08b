import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type BatchJob, GoogleGenAI, JobState } from '@google/genai';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { startBatches } from '../upstream-formats/start-batches.ts';

/* Batches of Google's SDK whose lines go to the batch APIs of providers, at half the price. */

const there = { after: after as never };
const [openai, claude, gemini] = [await startBatches(there), await startBatches(there), await startBatches(there)];
const batches = { upstream: 'always' };
const gateway = await startGateway(there, {
  providers: {
    openai: { type: 'openai', base_url: `${openai.url}/v1`, api_key: 'k', batches },
    claude: { type: 'anthropic', base_url: `${claude.url}/v1`, api_key: 'k', batches },
    google: { type: 'gemini', base_url: `${gemini.url}/v1beta`, api_key: 'k', batches },
  },
  models: {
    chat: { targets: ['openai/mock/ok'] },
    claude: { targets: ['claude/mock/ok'] },
    google: { targets: ['google/mock/ok'] },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  },
});
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });

for (const [model, upstream] of Object.entries({ chat: openai, claude, google: gemini })) {
  test(`${model}: the lines go to the provider's batch, and their answers come back in order`, async () => {
    const src = ['first words', 'second words'].map((text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }));
    const { name } = await google.batches.create({ model, src });
    let job: BatchJob = {};
    await until('the batch has ended', async () => {
      job = await google.batches.get({ name: name! });
      return job.state !== JobState.JOB_STATE_PENDING && job.state !== JobState.JOB_STATE_RUNNING;
    });
    assert.equal(job.state, JobState.JOB_STATE_SUCCEEDED);
    const texts = job.dest!.inlinedResponses!.map(
      ({ response }) => response!.candidates![0]!.content!.parts!.at(-1)!.text,
    );
    assert.match(texts[0]!, /first words/);
    assert.match(texts[1]!, /second words/);
    const begun = upstream.calls.filter((call) => /^POST \S*(?:\/batches|:batchGenerateContent)$/.test(call));
    assert.equal(begun.length, 1, upstream.calls.join('\n'));
  });
}

test("texts to embed go to the provider's batch, and come back as Google's", async () => {
  const src = { inlinedRequests: { contents: ['first words', 'second words'] } };
  const { name } = await google.batches.createEmbeddings({ model: 'embed', src });
  let job: BatchJob = {};
  await until('the batch has ended', async () => {
    job = await google.batches.get({ name: name! });
    return job.state !== JobState.JOB_STATE_PENDING && job.state !== JobState.JOB_STATE_RUNNING;
  });
  assert.equal(job.state, JobState.JOB_STATE_SUCCEEDED);
  const rows = job.dest!.inlinedEmbedContentResponses!.map(({ response }) => response!.embedding!.values!);
  const alone = await google.models.embedContent({ model: 'embed', contents: 'second words' });
  assert.deepEqual(rows[1], alone.embeddings![0]!.values);
  assert.equal(openai.calls.filter((call) => /^POST \S*\/batches$/.test(call)).length, 2, openai.calls.join('\n'));
});
