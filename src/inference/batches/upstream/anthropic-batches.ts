import { isObject, type JsonObject, objectIn, objectsIn } from '../../../kernel/json.ts';
import { joinedUpload } from '../../spine/upload-body.ts';
import type { BatchProgress, UpstreamBatches } from './batch-api.ts';
import { cancelAt, madeBefore, numberIn, removeAt, textIn } from './file-batches.ts';

const path = '/messages/batches';
const pageMax = 100;
const pagesMax = 20;
const newline = 0x0a;
const comma = 0x2c;

/** https://platform.claude.com/docs/en/api/messages/batches */
export const anthropicBatches: UpstreamBatches = {
  line: (customId, _url, body) => `{"custom_id":"${customId}","params":${body}}`,
  guesses: true,
  async begin(client, { content, beta }) {
    const body = joinedUpload([
      { text: '{"requests":[' },
      { file: { bytes: content.bytes, read: () => joined(content.open()) }, as: 'bytes' },
      { text: ']}' },
    ]);
    const headers = beta === null ? [] : ['anthropic-beta', beta];
    return textIn(await client.call('POST', path, { body, headers, repeats: 'unsent' }), 'id');
  },
  /**
   * Batches have no name there. One of as many requests from the same minutes is taken for ours: should it be
   * another's, its results name none of our lines, which are then asked one by one. It is left alone.
   */
  async find(client, { lines, sinceMs }, isOurs) {
    let after = '';
    for (let page = 0; page < pagesMax; page++) {
      const { data, has_more: hasMore, last_id: last } = await client.call('GET', `${path}?limit=${pageMax}${after}`);
      const batches = objectsIn(data);
      for (const batch of batches) {
        const createdS = Date.parse(String(batch.created_at)) / 1_000;
        if (madeBefore(createdS, sinceMs)) return null;
        const fits = createdS * 1_000 >= sinceMs - clockSkewMs && requestsIn(batch) === lines;
        if (fits && !isOurs(textIn(batch, 'id'))) return textIn(batch, 'id');
      }
      if (hasMore !== true || typeof last !== 'string') return null;
      after = `&after_id=${encodeURIComponent(last)}`;
    }
    return null;
  },
  look: async (client, id) => progressOf(await client.call('GET', `${path}/${encodeURIComponent(id)}`)),
  cancel: (client, id) => cancelAt(client, `${path}/${encodeURIComponent(id)}/cancel`),
  async *results(client, { id }) {
    for await (const { custom_id: customId, result } of client.lines(`${path}/${encodeURIComponent(id)}/results`)) {
      if (typeof customId !== 'string') continue;
      const isAnswered = isObject(result) && result.type === 'succeeded' && isObject(result.message);
      yield { customId, body: isAnswered ? JSON.stringify(result.message) : null };
    }
  },
  remove: (client, { id }) => removeAt(client, `${path}/${encodeURIComponent(id)}`),
};

const clockSkewMs = 60_000;

/** No line has a newline within it: each may become a comma. */
async function* joined(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of content) yield chunk.map((byte) => (byte === newline ? comma : byte)) as Buffer;
}

function requestsIn({ request_counts: counts }: JsonObject): number {
  return Object.values(objectIn(counts)).reduce<number>((sum, count) => sum + Number(count), 0);
}

function progressOf(batch: JsonObject): BatchProgress {
  return {
    id: textIn(batch, 'id'),
    ended: batch.processing_status === 'ended',
    succeeded: numberIn(objectIn(batch.request_counts), 'succeeded'),
    answers: [],
    files: [],
  };
}
