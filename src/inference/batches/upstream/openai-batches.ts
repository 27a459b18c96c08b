import { isObject, type JsonObject, objectIn, objectsIn } from '../../../kernel/json.ts';
import type { BatchProgress, UpstreamBatches } from './batch-api.ts';
import { answersIn, cancelAt, madeBefore, numberIn, removeFiles, textIn, uploadFile } from './file-batches.ts';

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
const pageMax = 100;
const pagesMax = 20;

/** https://platform.openai.com/docs/api-reference/batch, and the services that took it over. */
export const openAiBatches: UpstreamBatches = {
  line: (customId, url, body) => `{"custom_id":"${customId}","method":"POST","url":"${url}","body":${body}}`,
  async begin(client, { name, url, content }) {
    const file = await uploadFile(client, name, content);
    const body = { input_file_id: file, endpoint: url, completion_window: '24h', metadata: { culvert: name } };
    return textIn(await client.call('POST', '/batches', { body, repeats: 'unsent' }), 'id');
  },
  async find(client, { name, sinceMs }) {
    let after = '';
    for (let page = 0; page < pagesMax; page++) {
      const { data, has_more: hasMore } = await client.call('GET', `/batches?limit=${pageMax}${after}`);
      const batches = objectsIn(data);
      const found = batches.find(({ metadata }) => isObject(metadata) && metadata.culvert === name);
      if (found !== undefined) return textIn(found, 'id');
      const last = batches.at(-1);
      if (last === undefined || hasMore !== true || madeBefore(last.created_at, sinceMs)) return null;
      after = `&after=${encodeURIComponent(textIn(last, 'id'))}`;
    }
    return null;
  },
  look: async (client, id) => progressOf(await client.call('GET', `/batches/${encodeURIComponent(id)}`)),
  cancel: (client, id) => cancelAt(client, `/batches/${encodeURIComponent(id)}/cancel`),
  results: answersIn,
  remove: removeFiles,
};

function progressOf(batch: JsonObject): BatchProgress {
  const { status, request_counts: counts, input_file_id: input, output_file_id: output, error_file_id: error } = batch;
  const named = [input, output, error].filter((file) => typeof file === 'string');
  return {
    id: textIn(batch, 'id'),
    ended: ended.has(String(status)),
    succeeded: numberIn(objectIn(counts), 'completed'),
    answers: typeof output === 'string' ? [output] : [],
    files: named,
  };
}
