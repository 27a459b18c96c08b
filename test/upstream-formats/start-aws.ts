import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { listening } from '../forward-proxy.ts';
import type { Upstream } from '../start-upstream.ts';
import { type KnownKeys, signatureFault } from './verify-aws-signature.ts';

export const testAwsKeys: KnownKeys = {
  accessKeyId: 'AKIATESTTESTTESTTEST',
  secretAccessKey: 'test/secret+access/key-0000000000000000',
};

/** Of the next bytes of server-sent events, the frames that they make. */
type Framing = (bytes: Buffer) => Uint8Array[];

interface AwsService {
  /** What signatures name. */
  service: string;
  /** Frames of a stream at this path; null: this one does not stream. */
  framing(path: string): Framing | null;
  /** Takes this `authorization` instead of a signature. */
  bearer?: (authorization: string) => boolean;
}

/**
 * AWS's wire in front of an upstream of server-sent events: it refuses wrong signatures with 403, as AWS does, passes all
 * else on as it came, and puts streams into frames. Whatever the upstream is told to do (faults, pauses, a cut) is seen
 * through it.
 */
export async function startAws(
  t: Pick<TestContext, 'after'>,
  upstream: Pick<Upstream, 'url'>,
  { service, framing, bearer }: AwsService,
  keys: KnownKeys = testAwsKeys,
): Promise<{ url: string }> {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = '', url: target = '', headers } = request;
    const isKnown = bearer?.(headers.authorization ?? '') ?? false;
    const fault = isKnown ? null : signatureFault({ method, target, headers, body }, keys, service);
    if (fault !== null) {
      response.writeHead(403, { 'content-type': 'application/json', 'x-amzn-errortype': 'InvalidSignatureException' });
      response.end(JSON.stringify({ message: `The request signature we calculated does not match: ${fault}` }));
      return;
    }
    const onward = http.request(upstream.url + target, { method, headers }, (answer) =>
      passOn(answer, response, target),
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  });

  function passOn(answer: IncomingMessage, response: ServerResponse, target: string): void {
    const { statusCode = 500, headers } = answer;
    answer.on('aborted', () => response.destroy());
    const framed = headers['content-type']?.startsWith('text/event-stream') ? framing(target) : null;
    if (framed === null) {
      response.writeHead(statusCode, headers);
      answer.pipe(response);
      return;
    }
    const { 'content-length': _, ...others } = headers;
    response.writeHead(statusCode, { ...others, 'content-type': 'application/vnd.amazon.eventstream' });
    response.flushHeaders();
    answer.on('data', (bytes: Buffer) => {
      for (const frame of framed(bytes)) response.write(frame);
    });
    answer.on('end', () => response.end());
  }

  return { url: `http://127.0.0.1:${await listening(t as TestContext, server)}` };
}

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
  (text) => Buffer.from(text),
);

/** One message of the event stream. */
export function messageOf(headers: Readonly<Record<string, string>>, body: Uint8Array): Uint8Array {
  const typed = Object.entries(headers).map(([name, value]) => [name, { type: 'string' as const, value }]);
  return codec.encode({ headers: Object.fromEntries(typed), body });
}

/** SageMaker's parts: pieces of the body, cut wherever. */
export function sageMaker(pieceBytes: number): AwsService {
  const headers = {
    ':event-type': 'PayloadPart',
    ':content-type': 'application/octet-stream',
    ':message-type': 'event',
  };
  const framing: Framing = (bytes) =>
    Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
      messageOf(headers, bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes)),
    );
  return { service: 'sagemaker', framing: (path) => (path.endsWith('-response-stream') ? framing : null) };
}

/** Bedrock's frames, each of an event: InvokeModel's events stand in chunks. */
export function bedrockWire(bearer: (authorization: string) => boolean = () => false): AwsService {
  return {
    service: 'bedrock',
    bearer,
    framing(path) {
      let text = '';
      return (bytes) => {
        const events = (text + bytes.toString('latin1')).split('\n\n');
        text = events.pop()!;
        return events.flatMap((event) => bedrockFrame(Buffer.from(event, 'latin1').toString(), path));
      };
    },
  };
}

/** Of one server-sent event; none for a comment. */
function bedrockFrame(event: string, path: string): Uint8Array[] {
  const data = /^data: (.*)$/m.exec(event)?.[1];
  if (data === undefined) return [];
  const name = /^event: (.*)$/m.exec(event)?.[1] ?? '';
  const json = { ':content-type': 'application/json' };
  if (name.endsWith('Exception')) {
    return [messageOf({ ':exception-type': name, ...json, ':message-type': 'exception' }, Buffer.from(data))];
  }
  const isInvoked = path.endsWith('/invoke-with-response-stream');
  const body = isInvoked ? JSON.stringify({ bytes: Buffer.from(data).toString('base64'), p: 'abc' }) : data;
  const type = isInvoked ? 'chunk' : name;
  return [messageOf({ ':event-type': type, ...json, ':message-type': 'event' }, Buffer.from(body))];
}
