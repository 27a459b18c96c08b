import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { formUpload } from '../../spine/upload-body.ts';
import type { BatchAnswer, BatchProgress } from './batch-api.ts';
import { type UpstreamClient, UpstreamTrouble } from './upstream-client.ts';

/** Uploads JSON lines, for a batch unless `purpose` says else, as OpenAI's API has it; resolves to the file's id. */
export async function uploadFile(
  client: UpstreamClient,
  name: string,
  content: UpstreamUpload,
  purpose = 'batch',
): Promise<string> {
  const file = { bytes: content.bytes, read: content.open };
  const { contentType, ...body } = formUpload(
    [{ name: 'purpose', value: purpose }],
    [{ name: 'file', fileName: `${name}.jsonl`, mime: 'application/jsonl', file }],
  );
  return textIn(await client.call('POST', '/files', { body, contentType }), 'id');
}

/** Lines of its files of results. */
export async function* answersIn(
  client: UpstreamClient,
  { answers }: BatchProgress,
): AsyncGenerator<BatchAnswer, void, undefined> {
  for (const file of answers) {
    for await (const { custom_id: customId, response } of client.lines(`/files/${encodeURIComponent(file)}/content`)) {
      if (typeof customId !== 'string') continue;
      const { status_code: status, body } = objectIn(response);
      const isAnswered = typeof status === 'number' && status < 300 && isObject(body);
      yield { customId, body: isAnswered ? JSON.stringify(body) : null };
    }
  }
}

export async function cancelAt(client: UpstreamClient, path: string): Promise<void> {
  await client.call('POST', path, { body: {} });
}

export async function removeFiles(client: UpstreamClient, { files }: BatchProgress): Promise<void> {
  for (const file of files) await removeAt(client, `/files/${encodeURIComponent(file)}`);
}

/** Removes what `path` names. It may be gone already. */
export async function removeAt(client: UpstreamClient, path: string): Promise<void> {
  await client.call('DELETE', path).catch((error: unknown) => {
    if (!(error instanceof UpstreamTrouble && error.status === 404)) throw error;
  });
}

/** Clocks of others may differ by so much. */
const skewMs = 10 * 60_000;

/** Whether something of the time `createdS`, in seconds, is older than `sinceMs`. */
export function madeBefore(createdS: JsonValue | undefined, sinceMs: number): boolean {
  return typeof createdS === 'number' && createdS * 1_000 < sinceMs - skewMs;
}

export function textIn(object: JsonObject, name: string): string {
  const text = object[name];
  if (typeof text !== 'string') throw new UpstreamTrouble(`an answer without '${name}'`);
  return text;
}

export function numberIn(object: JsonObject, name: string): number {
  const number = object[name];
  return typeof number === 'number' ? number : 0;
}
