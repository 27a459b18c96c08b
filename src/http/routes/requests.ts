import { z } from 'zod';
import { type Feedback, metricsPerRequestMax } from '../../books/metering/experiments/experiment-book.ts';
import type { Ledger } from '../../books/metering/ledger.ts';
import { feedbackRecord, requestRecord } from '../../books/metering/request-record.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { allRead, type Failure, failureIn, invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute } from './key-route.ts';
import { oneOf, wholeOf } from './list-page.ts';

/** `GET /v1/requests/{id}`: one of the caller's own requests with its route explanation, by our id or the caller's. */
export function requestRoute(ledger: Pick<Ledger, 'find'>): Route {
  return keyRoute('GET /v1/requests/:id', 'free', {
    summary: 'Explain a request of the account afterwards',
    async handle(exchange) {
      const id = exchange.params.id ?? '';
      // Another account's request is indistinguishable from one that never was.
      const event = await ledger.find(id, callerOf(exchange).account);
      if (event !== null) return writeJson(exchange, 200, requestRecord(event, 'caller'));
      refuse(exchange.client, noRequest(id), []);
    },
  });
}

const listLimit = 20;
const listLimitMax = 100;

/** `GET /v1/requests`: what the calling key asked for, refused requests too, newest first. */
export function requestsRoute(ledger: Pick<Ledger, 'list'>): Route {
  return keyRoute('GET /v1/requests', 'free', {
    summary: 'List the requests of the key, refused ones too, newest first',
    async handle(exchange) {
      try {
        const { account, keyId } = callerOf(exchange);
        const parameters = new URLSearchParams(exchange.search);
        const session = parameters.get('session');
        const read = allRead<{ class: 'any' | 'ok' | 'failed'; limit: number }>({
          class: oneOf(parameters, 'class', ['any', 'ok', 'failed']) ?? 'any',
          limit: wholeOf(parameters, 'limit', listLimitMax) ?? listLimit,
        });
        if (isFailure(read)) return refuse(exchange.client, read, []);
        const { events, next } = await ledger.list({
          accounts: [account],
          where: {
            key: keyId,
            class: read.class,
            ...(session !== null && session !== '' && { session: { name: session } }),
          },
          sinceMs: null,
          untilMs: null,
          after: null,
          limit: read.limit,
          cursor: parameters.get('cursor'),
        });
        const data = events.map((event) => requestRecord(event, 'caller'));
        writeJson(exchange, 200, { object: 'list', data, next_cursor: next });
      } catch (error) {
        refuse(exchange.client, failureIn(error), []);
      }
    },
  });
}

function noRequest(id: string) {
  const message = `There is no request '${id.slice(0, 128)}' in this account. It may still be running, or older than the ledger keeps.`;
  return { kind: 'not-found' as const, message };
}

const feedbackBytesMax = 32 * 1024;
const commentCharsMax = 2_000;
const valueMax = 1e9;
const metricForm = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const metricError = 'must be a name of at most 64 letters, digits, _, . and -, which begins with a letter.';
const commentError = `must be a text of at most ${commentCharsMax} characters.`;

/** `error` follows the name of the field. */
const feedbackSchema = z.strictObject({
  metric: z
    .string({ error: metricError })
    .regex(metricForm, { error: metricError })
    .describe('What is rated, such as helpful.'),
  value: z
    .union([z.boolean(), z.number().min(-valueMax).max(valueMax)], {
      error: 'must be true, false, or a number between -1e9 and 1e9.',
    })
    .describe('true or false, or a number such as 4.5.'),
  comment: z
    .string({ error: commentError })
    .max(commentCharsMax, { error: commentError })
    .nullish()
    .describe('For the operator.'),
});

export interface FeedbackParts {
  ledger: Pick<Ledger, 'find' | 'experiments'>;
  clock: Pick<Clock, 'wallMs'>;
}

/** `POST /v1/requests/{id}/feedback`: rates one of the account's requests in a metric, anew at a second call. */
export function feedbackRoute(parts: FeedbackParts): Route {
  return keyRoute('POST /v1/requests/:id/feedback', 'free', {
    summary: 'Rate the answer to a request of the account; a second rating in one metric replaces the first',
    endpoint: 'feedback',
    body: { schema: () => z.toJSONSchema(feedbackSchema, { io: 'input' }) as JsonObject },
    async handle(exchange) {
      const raw = await readJsonBody(exchange, feedbackBytesMax);
      if (raw === null) return;
      const read = Buffer.isBuffer(raw) ? parseObject(raw) : raw;
      try {
        const recorded = isFailure(read) ? read : await recordFeedback(parts, exchange, read.body);
        if (isFailure(recorded)) refuse(exchange.client, recorded, []);
        else writeJson(exchange, 200, recorded);
      } catch (error) {
        refuse(exchange.client, failureIn(error), []);
      }
    },
  });
}

async function recordFeedback(
  { ledger, clock }: FeedbackParts,
  exchange: Exchange,
  body: JsonObject,
): Promise<JsonObject | Failure> {
  const ratings = feedbackIn(body);
  if (isFailure(ratings)) return ratings;
  const id = exchange.params.id ?? '';
  const request = await ledger.find(id, callerOf(exchange).account);
  if (request === null) return noRequest(id);
  const feedback: Feedback = { ...ratings, requestId: request.requestId, atMs: clock.wallMs() };
  if ((await ledger.experiments.rate(feedback, request, metricsPerRequestMax)) === 'too-many') {
    const message = `The request has feedback in ${metricsPerRequestMax} metrics, which is the most. Rate one of these anew.`;
    return invalid('metric', message);
  }
  return { object: 'feedback', request_id: request.requestId, ...feedbackRecord(feedback) };
}

/** A failure names the field. */
function feedbackIn(body: JsonObject): Omit<Feedback, 'requestId' | 'atMs'> | Failure {
  const parsed = feedbackSchema.safeParse(body);
  if (parsed.success) return { ...parsed.data, comment: parsed.data.comment ?? null };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0]?.slice(0, 80) : undefined;
  const field = unknown ?? String(issue?.path[0] ?? '');
  const what = unknown === undefined ? issue?.message : 'is not known. Feedback has metric, value and comment.';
  return invalid(field, `'${field}' ${what}`);
}
