import { isObject, type JsonObject, listIn, objectsIn } from '../../../kernel/json.ts';
import type { BatchProgress, UpstreamBatches } from './batch-api.ts';
import { answersIn, cancelAt, madeBefore, numberIn, removeFiles, textIn, uploadFile } from './file-batches.ts';

const path = '/batch/jobs';
const ended: ReadonlySet<string> = new Set(['SUCCESS', 'FAILED', 'TIMEOUT_EXCEEDED', 'CANCELLED']);
const pageMax = 100;
const pagesMax = 20;

/** https://docs.mistral.ai/api/endpoint/batch: a job is for one model. */
export const mistralBatches: UpstreamBatches = {
  line: (customId, _url, body) => `{"custom_id":"${customId}","body":${body}}`,
  async begin(client, { name, url, model, content }) {
    const file = await uploadFile(client, name, content);
    const body = { input_files: [file], endpoint: url, model, metadata: { culvert: name }, timeout_hours: 24 };
    return textIn(await client.call('POST', path, { body, repeats: 'unsent' }), 'id');
  },
  async find(client, { name, sinceMs }) {
    for (let page = 0; page < pagesMax; page++) {
      const { data } = await client.call('GET', `${path}?page=${page}&page_size=${pageMax}`);
      const jobs = objectsIn(data);
      const found = jobs.find(({ metadata }) => isObject(metadata) && metadata.culvert === name);
      if (found !== undefined) return textIn(found, 'id');
      if (jobs.length < pageMax || jobs.every(({ created_at: at }) => madeBefore(at, sinceMs))) return null;
    }
    return null;
  },
  look: async (client, id) => progressOf(await client.call('GET', `${path}/${encodeURIComponent(id)}`)),
  cancel: (client, id) => cancelAt(client, `${path}/${encodeURIComponent(id)}/cancel`),
  results: answersIn,
  remove: removeFiles,
};

function progressOf(job: JsonObject): BatchProgress {
  const { input_files: inputs, output_file: output, error_file: error } = job;
  const files = [...listIn(inputs), output, error].filter((file) => typeof file === 'string');
  return {
    id: textIn(job, 'id'),
    ended: ended.has(String(job.status)),
    succeeded: numberIn(job, 'succeeded_requests'),
    answers: typeof output === 'string' ? [output] : [],
    files,
  };
}
