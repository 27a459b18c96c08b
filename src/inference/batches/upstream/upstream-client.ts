import type { PathAt } from '../../../formats/providers/provider.ts';
import { type ProviderConnection, pathOf } from '../../../formats/providers/provider-connection.ts';
import { scrub } from '../../../formats/providers/scrub.ts';
import { isObject, type JsonObject, parsedJson } from '../../../kernel/json.ts';
import { streamedAnswer } from '../../../upstream/transport/streamed-answer.ts';
import type { Transport, UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { NoAnswer, wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import { linesOf } from '../lines-of.ts';

/** Length of one line. */
export const lineBytesMax = 8 * 1024 * 1024;

/** Calls a provider's batch API with one of its credentials. */
export interface UpstreamClient {
  /**
   * Resolves to the object of the answer. `path`: a text is below the root of the API. `repeats`: as in `UpstreamRequest`.
   * Rejects with an UpstreamTrouble.
   */
  call(
    method: 'GET' | 'POST' | 'DELETE',
    path: PathAt,
    sent?: {
      body?: JsonObject | UpstreamUpload;
      contentType?: string;
      headers?: readonly string[];
      repeats?: 'unsent';
    },
  ): Promise<JsonObject>;
  /** The objects of JSON lines; what is none is left out. */
  lines(path: PathAt): AsyncGenerator<JsonObject, void, undefined>;
}

/** `final`: the same call would fail again. */
export class UpstreamTrouble extends Error {
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }

  get final(): boolean {
    const { status } = this;
    return status !== null && status >= 300 && status < 500 && status !== 408 && status !== 409 && status !== 429;
  }
}

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 60_000;
/** A file of 200 MB on its way. */
const uploadTimeoutMs = 30 * 60_000;
const answerBytesMax = 16 * 1024 * 1024;
const silenceMs = 120_000;
/** A line that comes back has more around it than one that was sent. */
const returnedBytesMax = 4 * lineBytesMax;

/** Null: the provider or its credential is no longer configured. */
export function upstreamClient(
  transport: Transport,
  connection: ProviderConnection | undefined,
  credentialId: string,
): UpstreamClient | null {
  const credential = connection?.credentials.get(credentialId);
  if (connection === undefined || credential === undefined) return null;
  const { origin, route, basePath, batches, provider } = connection;
  const root = basePath + (batches?.root ?? provider.batches?.root ?? '');
  const address = (path: PathAt, headers: readonly string[]) => ({
    origin,
    route,
    path: pathOf(path, root),
    headers,
    authorize: credential.authorize,
  });

  return {
    async call(method, path, { body, contentType = 'application/json', headers = [], repeats } = {}) {
      const isUpload = body !== undefined && 'open' in body;
      const typed = credential.whole.map((value, at) =>
        at % 2 === 1 && credential.whole[at - 1] === 'content-type' ? contentType : value,
      );
      const usual = body === undefined ? credential.get : typed;
      const base = usual.filter((_, at) => !headers.includes(usual[at - (at % 2)]!));
      const sent = isUpload ? (body as UpstreamUpload) : body === undefined ? null : JSON.stringify(body);
      const deadline = AbortSignal.timeout(isUpload ? uploadTimeoutMs : answerTimeoutMs);
      const bounds = { connectTimeoutMs, bytesMax: answerBytesMax, deadline };
      const request = { ...address(path, [...base, ...headers]), method, body: sent, repeats };
      const { status, bytes } = await wholeAnswer(transport, request, bounds).catch(troubled);
      const answer = parsedJson(bytes.toString('utf8'));
      if (status < 300) return isObject(answer) ? answer : {};
      throw new UpstreamTrouble(scrub(`${status}: ${errorTextOf(answer)}`, connection), status);
    },
    async *lines(path) {
      const request = { ...address(path, credential.get), method: 'GET', body: null } as const;
      const answering = streamedAnswer(transport, request, { connectTimeoutMs, silenceMs });
      const { status, content } = await answering.catch(troubled);
      if (status >= 300) {
        await content.return();
        throw new UpstreamTrouble(`${status} for a file of results`, status);
      }
      try {
        for await (const line of linesOf(content, returnedBytesMax)) {
          const object = line === null ? null : parsedJson(line.toString('utf8'));
          if (isObject(object)) yield object;
        }
      } catch (error) {
        troubled(error);
      }
    },
  };
}

function troubled(error: unknown): never {
  if (error instanceof NoAnswer) throw new UpstreamTrouble(error.message);
  throw error;
}

function errorTextOf(answer: unknown): string {
  const error = isObject(answer) ? (answer.error ?? answer) : null;
  const message = isObject(error) ? (error.message ?? error.detail) : error;
  return typeof message === 'string' ? message.slice(0, 500) : 'without a reason';
}
