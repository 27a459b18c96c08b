import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { invoked } from './bedrock-models.ts';
import { messageOf, testAwsKeys } from './start-aws.ts';
import { type KnownKeys, signatureFault } from './verify-aws-signature.ts';

/** One event of a stream: its type and its JSON. `chunk` wraps what InvokeModel's model said. */
export type BedrockEvent = readonly [type: string, data: JsonObject, kind?: 'exception' | 'chunk'];

/** What one request gets. */
export type BedrockAnswer =
  | { status?: number; json: JsonObject; errorType?: string }
  | { events: readonly BedrockEvent[]; cutAt?: number; pieceBytes?: number; spoil?: 'checksum' };

export interface BedrockRequest {
  method: string;
  /** Path and query, as sent. */
  target: string;
  /** Decoded from the path. */
  model: string;
  /** `converse`, `invoke`…, or the list that was asked for. */
  operation: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
  /** As it came. */
  text: string;
}

export interface Bedrock {
  url: string;
  requests: BedrockRequest[];
  /** The next requests of an operation get these, one each; the last one all that follow. */
  script(operation: string, answers: readonly BedrockAnswer[]): void;
}

export const testBedrockToken = 'bedrock-api-key-0001';

/**
 * Bedrock's wire format as its published models say (service-2.json in @aws-sdk/client-bedrock-runtime): it refuses wrong
 * signatures and unknown API keys with 403, as AWS does, and answers what the test scripted.
 */
export async function startBedrock(t: Pick<TestContext, 'after'>, keys: KnownKeys = testAwsKeys): Promise<Bedrock> {
  const requests: BedrockRequest[] = [];
  const scripts = new Map<string, BedrockAnswer[]>();
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const raw = Buffer.concat(chunks);
      const { method = '', url: target = '', headers } = message;
      const fault =
        headers.authorization === `Bearer ${testBedrockToken}`
          ? null
          : signatureFault({ method, target, headers, body: raw }, keys, 'bedrock');
      if (fault !== null) {
        const json = { message: `The request signature we calculated does not match: ${fault}` };
        return send(response, { status: 403, json, errorType: 'InvalidSignatureException' });
      }
      const [, model = '', operation = ''] = /^\/model\/([^/]+)\/([^/?]+)/.exec(target) ?? [
        '',
        '',
        target.slice(1).split('?', 1)[0],
      ];
      const text = raw.toString('utf8');
      const body = text === '' ? {} : (JSON.parse(text) as JsonObject);
      requests.push({ method, target, model: decodeURIComponent(model), operation, headers, body, text });
      const script = scripts.get(operation);
      const scripted = script !== undefined && script.length > 1 ? script.shift() : script?.[0];
      send(response, scripted ?? modelAnswer(operation, decodeURIComponent(model), body) ?? usual(operation));
    });
  });
  const url = await listening(t, server);
  return {
    url,
    requests,
    script: (operation, answers) => void scripts.set(operation, [...answers]),
  };
}

/** Models without chat, which are invoked whole; null: another operation or model. */
function modelAnswer(operation: string, model: string, body: JsonObject): BedrockAnswer | null {
  const answer = operation === 'invoke' ? invoked(model, body) : null;
  if (typeof answer !== 'string') return answer === null ? null : { json: answer };
  return { status: 400, json: { message: answer }, errorType: 'ValidationException' };
}

function send(response: ServerResponse, answer: BedrockAnswer): void {
  if ('json' in answer) {
    const { status = 200, json, errorType } = answer;
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(errorType !== undefined && { 'x-amzn-errortype': `${errorType}:http://internal.amazon.com/` }),
    });
    response.end(JSON.stringify(json));
    return;
  }
  const frames = answer.events.map(frameOf);
  if (answer.spoil === 'checksum') frames.at(-1)![20]! ^= 1;
  const bytes = Buffer.concat(frames).subarray(0, answer.cutAt);
  response.writeHead(200, {
    'content-type': 'application/vnd.amazon.eventstream',
    'x-amzn-bedrock-content-type': 'application/json',
  });
  const piece = answer.pieceBytes ?? bytes.length;
  let at = 0;
  const next = (): void => {
    if (at >= bytes.length) return void response.end();
    response.write(bytes.subarray(at, at + piece));
    at += piece;
    setImmediate(next);
  };
  next();
}

/** One message of the event stream. */
export function frameOf([type, data, kind]: BedrockEvent): Uint8Array {
  const body =
    kind === 'chunk' ? { bytes: Buffer.from(JSON.stringify(data)).toString('base64'), p: 'abcdefghijk' } : data;
  const named =
    kind === 'exception' ? { ':exception-type': type } : { ':event-type': kind === 'chunk' ? 'chunk' : type };
  const messageType = kind === 'exception' ? 'exception' : 'event';
  const headers = { ...named, ':content-type': 'application/json', ':message-type': messageType };
  return messageOf(headers, Buffer.from(JSON.stringify(body)));
}

const usage = { inputTokens: 11, outputTokens: 7, totalTokens: 18 };

function usual(operation: string): BedrockAnswer {
  switch (operation) {
    case 'converse':
      return {
        json: {
          output: { message: { role: 'assistant', content: [{ text: 'Hello from Bedrock.' }] } },
          stopReason: 'end_turn',
          usage,
          metrics: { latencyMs: 42 },
        },
      };
    case 'converse-stream':
      return { events: textStream(['Hello ', 'from ', 'Bedrock.']) };
    case 'invoke':
      return { json: claudeMessage('Hello from Claude.') };
    case 'invoke-with-response-stream':
      return { events: claudeStream(['Hello ', 'from ', 'Claude.']) };
    case 'foundation-models':
      return {
        json: {
          modelSummaries: [
            foundation('amazon.nova-lite-v1:0', ['TEXT'], ['ON_DEMAND']),
            foundation('anthropic.claude-sonnet-4-5-20250929-v1:0', ['TEXT'], ['INFERENCE_PROFILE']),
            foundation('amazon.titan-embed-text-v2:0', ['EMBEDDING'], ['ON_DEMAND']),
            foundation('amazon.nova-canvas-v1:0', ['IMAGE'], ['ON_DEMAND']),
            foundation('amazon.nova-sonic-v1:0', ['SPEECH'], ['ON_DEMAND']),
          ],
        },
      };
    case 'inference-profiles':
      return {
        json: {
          inferenceProfileSummaries: [
            {
              inferenceProfileId: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
              status: 'ACTIVE',
              type: 'SYSTEM_DEFINED',
            },
          ],
        },
      };
    default:
      return {
        status: 404,
        json: { message: `Unknown operation ${operation}` },
        errorType: 'UnknownOperationException',
      };
  }
}

function foundation(modelId: string, outputModalities: string[], inferenceTypesSupported: string[]): JsonObject {
  return { modelId, outputModalities, inferenceTypesSupported, modelLifecycle: { status: 'ACTIVE' } };
}

/** A streamed Converse answer of one text. */
export function textStream(texts: readonly string[]): BedrockEvent[] {
  return [
    ['messageStart', { role: 'assistant' }],
    ...texts.map((text): BedrockEvent => ['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }]),
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage, metrics: { latencyMs: 42 } }],
  ];
}

export function claudeMessage(text: string): JsonObject {
  return {
    id: 'msg_bdrk_01',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 0 },
  };
}

/** A thought with its signature, then a text, as Claude streams them by InvokeModelWithResponseStream. */
export function claudeStream(texts: readonly string[]): BedrockEvent[] {
  const chunk = (data: JsonObject): BedrockEvent => ['chunk', data, 'chunk'];
  const delta = (index: number, change: JsonObject) => chunk({ type: 'content_block_delta', index, delta: change });
  return [
    chunk({
      type: 'message_start',
      message: { ...claudeMessage(''), content: [], stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } },
    }),
    chunk({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
    delta(0, { type: 'thinking_delta', thinking: 'Let me greet — 你好.' }),
    delta(0, { type: 'signature_delta', signature: 'EqoBsigned==' }),
    chunk({ type: 'content_block_stop', index: 0 }),
    chunk({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
    ...texts.map((text) => delta(1, { type: 'text_delta', text })),
    chunk({ type: 'content_block_stop', index: 1 }),
    chunk({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    }),
    chunk({
      type: 'message_stop',
      'amazon-bedrock-invocationMetrics': { inputTokenCount: 9, outputTokenCount: 5, invocationLatency: 50 },
    }),
  ];
}
