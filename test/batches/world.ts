import { setTimeout as after } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';

/** One line of a batch in OpenAI's format. */
export function chatLine(customId: string, body: JsonObject = {}): string {
  const request = { model: 'chat', messages: [{ role: 'user', content: `Hello ${customId}` }], ...body };
  return JSON.stringify({ custom_id: customId, method: 'POST', url: '/v1/chat/completions', body: request });
}

export function openAi(url: string, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

export function anthropic(url: string, authToken: string): Anthropic {
  return new Anthropic({ baseURL: url, authToken, apiKey: null, maxRetries: 0 });
}

/** Uploads the lines, and begins a batch of them. */
export async function beginBatch(
  client: OpenAI,
  lines: readonly string[],
  { endpoint = '/v1/chat/completions', window = '24h' } = {},
): Promise<OpenAI.Batch> {
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl'),
    purpose: 'batch',
  });
  return client.batches.create({
    input_file_id: file.id,
    endpoint: endpoint as '/v1/chat/completions',
    completion_window: window as '24h',
  });
}

/** The batch once `is` holds. */
export async function batchWhen(
  client: OpenAI,
  id: string,
  is: (batch: OpenAI.Batch) => boolean,
): Promise<OpenAI.Batch> {
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (is(batch)) return batch;
    await after(50);
  }
}

export function hasEnded({ status }: OpenAI.Batch): boolean {
  return ['completed', 'failed', 'expired', 'cancelled'].includes(status);
}

/** The lines of a file of results; none when there is no file. */
export async function resultsIn(client: OpenAI, file: string | null | undefined): Promise<ResultLine[]> {
  if (file === null || file === undefined) return [];
  const text = await (await client.files.content(file)).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ResultLine);
}

export interface ResultLine {
  id: string;
  custom_id: string | null;
  response: { status_code: number; request_id: string; body: JsonObject } | null;
  error: { code: string; message: string } | null;
}
