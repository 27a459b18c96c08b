import { type Feedback, metricsPerRequestMax } from '../../books/metering/experiment-book.ts';
import type { Ledger } from '../../books/metering/ledger.ts';
import { feedbackRecord, requestRecord } from '../../books/metering/request-record.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { objectIn } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';

/** `GET /v1/requests/{id}`: one of the caller's own requests with its route explanation, by our id or the caller's. */
export function requestRoute(ledger: Pick<Ledger, 'find'>): Route {
  return {
    method: 'GET',
    path: '/v1/requests/:id',
    summary: 'Explain a request of the account afterwards',
    auth: 'key',
    quota: 'free',
    dialect: openAiChat,
    async handle(exchange) {
      const id = exchange.params.id ?? '';
      // Another account's request is indistinguishable from one that never was.
      const event = await ledger.find(id, callerOf(exchange).account);
      if (event !== null) return writeJson(exchange, 200, requestRecord(event, 'caller'));
      refuse(exchange.client, noRequest(id), []);
    },
  };
}

function noRequest(id: string) {
  const message = `There is no request '${id.slice(0, 128)}' in this account. It may still be running, or older than the ledger keeps.`;
  return { kind: 'not-found' as const, message };
}

const feedbackBytesMax = 32 * 1024;
const commentCharsMax = 2_000;
const valueMax = 1e9;
const metricForm = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

const feedbackProperties = {
  metric: { type: 'string', pattern: metricForm.source, description: 'What is rated, such as helpful.' },
  value: {
    description: 'true or false, or a number such as 4.5.',
    anyOf: [{ type: 'boolean' }, { type: 'number', minimum: -valueMax, maximum: valueMax }],
  },
  comment: { type: ['string', 'null'], maxLength: commentCharsMax, description: 'For the operator.' },
};

export interface FeedbackParts {
  ledger: Pick<Ledger, 'find' | 'experiments'>;
  clock: Pick<Clock, 'wallMs'>;
}

/**
 * `POST /v1/requests/{id}/feedback`: rates one of the account's own requests in one metric. A second call replaces the
 * first.
 */
export function feedbackRoute(parts: FeedbackParts): Route {
  const schema = { type: 'object', required: ['metric', 'value'], properties: feedbackProperties };
  return {
    method: 'POST',
    path: '/v1/requests/:id/feedback',
    summary: 'Rate the answer to a request of the account; a second rating in one metric replaces the first',
    auth: 'key',
    quota: 'free',
    endpoint: 'feedback',
    dialect: openAiChat,
    body: { schema: () => schema },
    async handle(exchange) {
      try {
        const raw = await readJsonBody(exchange, feedbackBytesMax);
        if (raw === null) return;
        if (!Buffer.isBuffer(raw)) throw new FailureError(raw);
        writeJson(exchange, 200, await kept(parts, exchange, objectIn(raw)));
      } catch (error) {
        if (!(error instanceof FailureError)) throw error;
        refuse(exchange.client, error.failure, []);
      }
    },
  };
}

async function kept({ ledger, clock }: FeedbackParts, exchange: Exchange, body: JsonObject): Promise<JsonObject> {
  const asked = feedbackIn(body);
  const id = exchange.params.id ?? '';
  const request = await ledger.find(id, callerOf(exchange).account);
  if (request === null) throw new FailureError(noRequest(id));
  const feedback: Feedback = { ...asked, requestId: request.requestId, atMs: clock.wallMs() };
  if ((await ledger.experiments.rate(feedback, request, metricsPerRequestMax)) === 'too-many') {
    const message = `The request has feedback in ${metricsPerRequestMax} metrics, which is the most. Rate one of these anew.`;
    throw new FailureError(invalid('metric', message));
  }
  return { object: 'feedback', request_id: request.requestId, ...feedbackRecord(feedback) };
}

/** Throws FailureError for what is wrong in the body. */
function feedbackIn({ metric, value, comment = null, ...others }: JsonObject): Omit<Feedback, 'requestId' | 'atMs'> {
  const wrong = (field: string, what: string) => new FailureError(invalid(field, `'${field}' ${what}`));
  const unknown = Object.keys(others)[0]?.slice(0, 80);
  if (unknown !== undefined) throw wrong(unknown, 'is not known. Feedback has metric, value and comment.');
  if (typeof metric !== 'string' || !metricForm.test(metric)) {
    throw wrong('metric', 'must be a name of at most 64 letters, digits, _, . and -, which begins with a letter.');
  }
  const isNumber = typeof value === 'number' && Math.abs(value) <= valueMax;
  if (typeof value !== 'boolean' && !isNumber) {
    throw wrong('value', 'must be true, false, or a number between -1e9 and 1e9.');
  }
  if (comment !== null && (typeof comment !== 'string' || comment.length > commentCharsMax)) {
    throw wrong('comment', `must be a text of at most ${commentCharsMax} characters.`);
  }
  return { metric, value, comment };
}
