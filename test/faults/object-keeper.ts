import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { listening } from '../listening.ts';

type Json = Record<string, unknown>;

/** Requests, by their credential. */
export interface Kept {
  credential: string;
  path: string;
  body: string;
}

export interface ObjectKeeper {
  url: string;
  requests: Kept[];
  /** A credential's next requests are refused so; 0: served again. */
  refuse(credential: string, status: number): void;
  /** Streams end after their first event. */
  cutStreams: boolean;
  /** Forgets every object, as a provider does after its time. */
  forget(): void;
}

/**
 * A provider of all four formats that keeps objects by credential, as OpenAI, Anthropic and Google do by organization,
 * and gives everybody who names one its contents. Answers give out every kind of id of the formats.
 */
export async function startObjectKeeper(t: Pick<TestContext, 'after'>): Promise<ObjectKeeper> {
  /** Text by `credential id`. */
  const objects = new Map<string, string>();
  const refused = new Map<string, number>();
  const keeper = { url: '', requests: [] as Kept[], cutStreams: false };

  function make(credential: string, prefix: string, text: string): string {
    const id = prefix + randomBytes(12).toString('hex');
    objects.set(`${credential} ${id}`, text);
    return id;
  }

  function respond(credential: string, body: Json, response: ServerResponse): void {
    const held: string[] = [];
    for (const id of idsIn(body)) {
      const text = objects.get(`${credential} ${id}`);
      if (text === undefined) {
        const message = `No object with id '${id}' was found.`;
        return send(response, 404, { error: { message, type: 'invalid_request_error', param: null, code: null } });
      }
      held.push(text);
    }
    const said = `I remember: ${held.join(' | ')}`;
    const secret = JSON.stringify(body.input);
    const output = [
      { id: make(credential, 'rs_', secret), type: 'reasoning', summary: [] },
      {
        id: make(credential, 'ci_', secret),
        type: 'code_interpreter_call',
        status: 'completed',
        code: '1',
        container_id: make(credential, 'cntr_', secret),
        outputs: null,
      },
      { id: make(credential, 'ig_', secret), type: 'image_generation_call', status: 'completed', result: null },
      {
        id: make(credential, 'msg_', secret),
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: said,
            annotations: [
              {
                type: 'container_file_citation',
                container_id: make(credential, 'cntr_', secret),
                file_id: make(credential, 'cfile_', secret),
                filename: 'a.txt',
                start_index: 0,
                end_index: 1,
              },
            ],
          },
        ],
      },
    ];
    const whole: Json = {
      id: make(credential, 'resp_', secret),
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      model: body.model,
      output,
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
    if (body.stream !== true) return send(response, 200, whole);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sequence = 0;
    const event = (type: string, members: Json) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...members })}\n\n`);
    event('response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } });
    event('response.output_text.delta', { item_id: output[3]!.id, output_index: 3, content_index: 0, delta: said });
    if (keeper.cutStreams) {
      setTimeout(() => response.destroy(), 20);
      return;
    }
    for (const [output_index, item] of output.entries()) event('response.output_item.done', { output_index, item });
    event('response.completed', { response: whole });
    response.end();
  }

  function message(credential: string, body: Json, response: ServerResponse): void {
    const id = typeof body.container === 'string' ? body.container : make(credential, 'container_', 'x');
    const container = { id, expires_at: '2027-01-01T00:00:00Z' };
    const file = {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'bash_code_execution_result',
        stdout: '',
        stderr: '',
        return_code: 0,
        content: [{ type: 'bash_code_execution_output', file_id: make(credential, 'file_', 'x') }],
      },
    };
    const text = { type: 'text', text: 'Done.' };
    const head = { id: make(credential, 'msg_', 'x'), type: 'message', role: 'assistant', model: body.model };
    const usage = { input_tokens: 1, output_tokens: 1 };
    if (body.stream !== true) {
      const end = { stop_reason: 'end_turn', stop_sequence: null, usage, container };
      return send(response, 200, { ...head, content: [file, text], ...end });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (type: string, members: Json) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
    event('message_start', { message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } });
    event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Done.' } });
    event('content_block_stop', { index: 0 });
    event('content_block_start', { index: 1, content_block: file });
    event('content_block_stop', { index: 1 });
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null, container }, usage });
    event('message_stop', {});
    response.end();
  }

  function chat(credential: string, body: Json, response: ServerResponse): void {
    const audio = { id: make(credential, 'audio_', 'x'), data: 'AAAA', transcript: 'Hi', expires_at: 1_900_000_000 };
    const head = { id: make(credential, 'chatcmpl-', 'x'), created: 1_700_000_000, model: body.model };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (body.stream !== true) {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hi', audio }, finish_reason: 'stop' };
      return send(response, 200, { ...head, object: 'chat.completion', choices: [choice], usage });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: Json, finish_reason: string | null) =>
      response.write(
        `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    chunk({ role: 'assistant', content: '' }, null);
    chunk({ audio: { id: audio.id, transcript: 'Hi' } }, null);
    chunk({ audio: { id: audio.id, data: 'AAAA' } }, null);
    chunk({}, 'stop');
    response.end('data: [DONE]\n\n');
  }

  function answer(path: string, credential: string, body: Json, response: ServerResponse): void {
    if (path.endsWith('/input_tokens'))
      return send(response, 200, { object: 'response.input_tokens', input_tokens: 7 });
    if (path.endsWith('/count_tokens')) return send(response, 200, { input_tokens: 7 });
    if (path.endsWith('/responses')) return respond(credential, body, response);
    if (path.endsWith('/messages')) return message(credential, body, response);
    if (path.endsWith('/chat/completions')) return chat(credential, body, response);
    const content = { role: 'model', parts: [{ text: 'Hi' }] };
    send(response, 200, { candidates: [{ index: 0, content, finishReason: 'STOP' }] });
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(404).end();
      const credential = credentialOf(request);
      const body = Buffer.concat(chunks).toString('utf8');
      const path = request.url!.split('?')[0]!;
      keeper.requests.push({ credential, path, body });
      const status = refused.get(credential) ?? 0;
      if (status === 0) return answer(path, credential, JSON.parse(body) as Json, response);
      response.setHeader('retry-after', '30');
      send(response, status, { error: { message: 'no', type: 'x', param: null, code: 'rate_limit_exceeded' } });
    });
  });
  const url = await listening(t, server);
  keeper.url = url;
  return Object.assign(keeper, {
    refuse: (credential: string, status: number) => void refused.set(credential, status),
    forget: () => objects.clear(),
  });
}

/** Ids of a Responses body that this provider looks up. */
function idsIn({ previous_response_id: previous, input }: Json): string[] {
  const items = (Array.isArray(input) ? input : []) as Json[];
  const looked = items.filter(({ type }) => type === 'item_reference' || type === 'image_generation_call');
  return [...(typeof previous === 'string' ? [previous] : []), ...looked.map(({ id }) => String(id))];
}

function credentialOf({ headers }: IncomingMessage): string {
  const key = headers['x-api-key'] ?? headers['x-goog-api-key'];
  return String(key ?? headers.authorization?.replace(/^Bearer /, ''));
}

function send(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
