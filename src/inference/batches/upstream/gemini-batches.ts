import { randomBase62 } from '../../../kernel/ids.ts';
import { isObject, type JsonObject, objectIn, objectsIn } from '../../../kernel/json.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { joinedUpload } from '../../spine/upload-body.ts';
import type { BatchProgress, UpstreamBatches } from './batch-api.ts';
import { cancelAt, removeAt, removeFiles, textIn } from './file-batches.ts';
import type { UpstreamClient } from './upstream-client.ts';

const path = '/batches';
const ended = /_(SUCCEEDED|FAILED|CANCELLED|EXPIRED)$/;
const pageMax = 50;
const pagesMax = 20;

/**
 * https://ai.google.dev/api/batch-api: a batch is for one model, which its address names. Lines go as a file, since answers
 * to inline requests come back without their names, and not always in order.
 */
export const geminiBatches: UpstreamBatches = {
  line: (customId, _url, body) => `{"key":"${customId}","request":${body}}`,
  async begin(client, { name, url, content }) {
    const fileName = await upload(client, name, content);
    const body = { batch: { displayName: name, inputConfig: { fileName } } };
    return idOf(await client.call('POST', url, { body, repeats: 'unsent' }));
  },
  async find(client, { name }) {
    let after = '';
    for (let page = 0; page < pagesMax; page++) {
      const { operations, nextPageToken: next } = await client.call('GET', `${path}?pageSize=${pageMax}${after}`);
      const batches = objectsIn(operations);
      const found = batches.find(({ metadata }) => objectIn(metadata).displayName === name);
      if (found !== undefined) return idOf(found);
      if (typeof next !== 'string' || next === '') return null;
      after = `&pageToken=${encodeURIComponent(next)}`;
    }
    return null;
  },
  look: async (client, id) => progressOf(await client.call('GET', `${path}/${encodeURIComponent(id)}`)),
  cancel: (client, id) => cancelAt(client, `${path}/${encodeURIComponent(id)}:cancel`),
  async *results(client, { answers }) {
    for (const file of answers) {
      const at = { fromOrigin: `/download/v1beta/files/${encodeURIComponent(file)}:download?alt=media` };
      for await (const { key, response } of client.lines(at)) {
        if (typeof key === 'string')
          yield { customId: key, body: isObject(response) ? JSON.stringify(response) : null };
      }
    }
  },
  async remove(client, progress) {
    await removeFiles(client, progress);
    await removeAt(client, `${path}/${encodeURIComponent(progress.id)}`);
  },
};

/** Resolves to the file's name, `files/…`. Google deletes it after 48 hours, whatever happens here. */
async function upload(client: UpstreamClient, name: string, content: UpstreamUpload): Promise<string> {
  const facts = JSON.stringify({ file: { displayName: name, mimeType: 'application/jsonl' } });
  const boundary = `culvert-${randomBase62(24)}`;
  const begin = `--${boundary}\r\ncontent-type: application`;
  const body = joinedUpload([
    { text: `${begin}/json; charset=utf-8\r\n\r\n${facts}\r\n${begin}/jsonl\r\n\r\n` },
    { file: { bytes: content.bytes, read: content.open }, as: 'bytes' },
    { text: `\r\n--${boundary}--\r\n` },
  ]);
  const contentType = `multipart/related; boundary=${boundary}`;
  const at = { fromOrigin: '/upload/v1beta/files' };
  const answer = await client.call('POST', at, { body, contentType, headers: ['x-goog-upload-protocol', 'multipart'] });
  return textIn(objectIn(answer.file), 'name');
}

function progressOf(batch: JsonObject): BatchProgress {
  const { metadata, done, response } = batch;
  const { state, batchStats, inputConfig, output } = objectIn(metadata);
  const input = objectIn(inputConfig).fileName;
  const answers = objectIn(response).responsesFile ?? objectIn(output).responsesFile;
  return {
    id: idOf(batch),
    ended: done === true || ended.test(String(state)),
    // Numbers of 64 bits are text in Google's JSON.
    succeeded: Number(objectIn(batchStats).successfulRequestCount ?? 0),
    answers: typeof answers === 'string' ? [bare(answers)] : [],
    // The id of the file of answers is longer than the call that deletes files takes.
    files: typeof input === 'string' ? [bare(input)] : [],
  };
}

function idOf(batch: JsonObject): string {
  return bare(textIn(batch, 'name'));
}

/** `batches/ID` or `files/ID` without what it is. */
function bare(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}
