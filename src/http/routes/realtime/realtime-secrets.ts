import type { ClientSecrets } from '../../../books/auth/client-secrets.ts';
import { callerIdOf } from '../../../books/auth/principal.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { transcriptionModelIn } from '../../../formats/media/realtime/session-settings.ts';
import type { JsonSchema } from '../../../formats/neutral/described-check.ts';
import { notRealtime, notTranscribing } from '../../../inference/families/realtime/held-session.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import { admittedOf, callerOf, type Exchange, type Route } from '../../exchange.ts';
import { readJsonBody } from '../../read-body.ts';
import { writeJson } from '../../write-json.ts';

interface SecretsParts {
  services: RealtimeServices;
  secrets: ClientSecrets;
}

const bodyBytesMax = 1024 * 1024;
/** OpenAI's bounds and default. */
const seconds = { least: 10, most: 7_200, usual: 600 } as const;

/** Keys for browsers and phones: OpenAI's present format, and the older one, where the settings are the body. */
export function clientSecretRoutes(parts: SecretsParts): Route[] {
  const shared = { method: 'POST', auth: 'key', quota: 'one', dialect: openAiChat } as const;
  return [
    {
      ...shared,
      path: '/v1/realtime/client_secrets',
      endpoint: 'realtime.client_secrets',
      body: { schema: presentSchema },
      summary: 'A key for a browser or a phone, which opens realtime sessions for some minutes',
      handle: (exchange) => answer(parts, exchange, 'present'),
    },
    {
      ...shared,
      path: '/v1/realtime/sessions',
      endpoint: 'realtime.sessions',
      body: { schema: olderSchema },
      summary: 'The same in the older format',
      handle: (exchange) => answer(parts, exchange, 'older'),
    },
  ];
}

const modelSchema = { type: 'string', description: 'The model of the sessions.' } as const;

function presentSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['session'],
    properties: {
      expires_after: {
        type: 'object',
        description: 'How long it works.',
        properties: {
          anchor: { type: 'string', enum: ['created_at'] },
          seconds: { type: 'integer', minimum: seconds.least, maximum: seconds.most, default: seconds.usual },
        },
      },
      session: {
        type: 'object',
        description: 'Settings of the sessions, as in session.update.',
        properties: {
          type: { type: 'string', enum: ['realtime', 'transcription'], default: 'realtime' },
          model: { ...modelSchema, description: 'The model of the sessions. Transcriptions name theirs in `audio`.' },
        },
      },
    },
  };
}

function olderSchema(): JsonSchema {
  return {
    type: 'object',
    description: 'The model, and settings as in session.update.',
    required: ['model'],
    properties: { model: modelSchema },
  };
}

async function answer(
  { services, secrets }: SecretsParts,
  exchange: Exchange,
  form: 'present' | 'older',
): Promise<void> {
  const { client, principal } = exchange;
  const { headers } = admittedOf(exchange);
  const refused = (failure: Failure) => refuse(client, failure, headers);
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const read = Buffer.isBuffer(raw) ? readRequest(raw, form) : raw;
  if (isFailure(read)) return refused(read);
  const { model, kind, session, lifeS } = read;
  const alias = services.snapshots.current.models.resolve(model, callerOf({ principal }));
  if (isFailure(alias)) return refused(alias);
  const wrong = kind === 'transcription' ? notTranscribing(alias) : notRealtime(alias);
  if (wrong !== null) return refused(wrong);
  const expiresS = Math.floor(services.clock.wallMs() / 1_000) + lifeS;
  const value = secrets.issue({
    keyId: callerIdOf(callerOf({ principal })),
    model,
    session,
    expiresMs: expiresS * 1_000,
  });
  if (value === null) return refused(tooLong);
  const shown = { ...session, id: `sess_${randomBase62(20)}`, object: 'realtime.session', model };
  const body: JsonObject =
    form === 'present'
      ? { value, expires_at: expiresS, session: shown }
      : { ...shown, client_secret: { value, expires_at: expiresS } };
  writeJson(exchange, 200, body, headers);
}

const tooLong = invalid(
  'session',
  'The session is too long for a client secret, which must fit in a header. Send long instructions in session.update.',
);

interface SecretRequest {
  model: string;
  kind: 'realtime' | 'transcription';
  /** The settings, without the model. */
  session: JsonObject;
  lifeS: number;
}

function readRequest(raw: Buffer, form: 'present' | 'older'): SecretRequest | Failure {
  const parsed = parseObject(raw);
  if (isFailure(parsed)) return parsed;
  const { expires_after: expires, session: inner, ...rest } = parsed.body;
  const lifeS = form === 'present' ? lifeOf(expires) : seconds.usual;
  if (typeof lifeS !== 'number') return lifeS;
  const settings = form === 'present' ? inner : rest;
  const place = form === 'present' ? 'session.' : '';
  if (!isObject(settings)) return invalid('session', 'session must be an object that names a model.');
  const { model: talks, type = 'realtime', ...others } = settings;
  if (type !== 'realtime' && type !== 'transcription') {
    return invalid(`${place}type`, `${place}type must be 'realtime' or 'transcription'.`);
  }
  const model = type === 'realtime' ? talks : transcriptionModelIn(settings);
  if (typeof model !== 'string' || model === '') {
    const path = `${place}${type === 'realtime' ? 'model' : 'audio.input.transcription.model'}`;
    return invalid(path, `${path} must name a model.`);
  }
  return { model, kind: type, session: form === 'present' ? { type, ...others } : others, lifeS };
}

function lifeOf(expires: JsonValue | undefined): number | Failure {
  if (expires === undefined || expires === null) return seconds.usual;
  const life = isObject(expires) ? (expires.seconds ?? seconds.usual) : null;
  if (typeof life === 'number' && Number.isInteger(life) && life >= seconds.least && life <= seconds.most) return life;
  const message = `expires_after.seconds must be a whole number from ${seconds.least} to ${seconds.most}.`;
  return invalid('expires_after.seconds', message);
}
