import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from './listening.ts';

/** A form as it reached an upstream. */
export interface ReceivedForm {
  path: string;
  headers: IncomingHttpHeaders;
  /** In order, the file left out. */
  fields: [string, string][];
  file: { name: string; type: string; bytes: Buffer } | null;
  /** The unchanged body, when it is not a form. */
  raw: Buffer;
}

/** Handling of one request, after its whole body has come. */
export type Answer = (response: ServerResponse, form: ReceivedForm) => void;

export interface ScriptedTranscriber {
  url: string;
  forms: ReceivedForm[];
  /** For the next requests, one each; then it answers `{"text": "Hello there."}` again. */
  script(...answers: Answer[]): void;
}

/** An upstream that reads forms and answers what the test says; closed with the test. */
export async function startTranscriber(t: Pick<TestContext, 'after'>): Promise<ScriptedTranscriber> {
  const forms: ReceivedForm[] = [];
  const script: Answer[] = [];
  const server = createServer(async (request, response) => {
    // Its list of models, which the gateway looks at.
    if (request.method === 'GET') return json({ object: 'list', data: [] })(response, nothing);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const form = await readForm(request.url ?? '', request.headers, Buffer.concat(chunks));
    forms.push(form);
    (script.shift() ?? json({ text: 'Hello there.' }))(response, form);
  });
  const url = await listening(t, server);
  return { url, forms, script: (...answers) => script.push(...answers) };
}

const nothing: ReceivedForm = { path: '', headers: {}, fields: [], file: null, raw: Buffer.alloc(0) };

export function json(body: unknown, status = 200): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
}

export function events(...payloads: unknown[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const payload of payloads) response.write(`data: ${JSON.stringify(payload)}\n\n`);
    response.end();
  };
}

async function readForm(path: string, headers: IncomingHttpHeaders, raw: Buffer): Promise<ReceivedForm> {
  const received: ReceivedForm = { path, headers, fields: [], file: null, raw };
  const type = headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) return received;
  const form = await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData();
  for (const [name, value] of form.entries()) {
    if (typeof value === 'string') received.fields.push([name, value]);
    else received.file = { name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return received;
}

/** A wav file of a quiet tone. */
export function wavOf(seconds: number, rateHz = 16_000): Buffer {
  const samples = Math.round(seconds * rateHz);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(36 + samples * 2, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rateHz, 24);
  wav.writeUInt32LE(rateHz * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(samples * 2, 40);
  for (let i = 0; i < samples; i++)
    wav.writeInt16LE(Math.round(3_000 * Math.sin((i * 440 * 2 * Math.PI) / rateHz)), 44 + i * 2);
  return wav;
}
