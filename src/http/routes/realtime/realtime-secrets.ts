import type { ClientSecrets } from '../../../books/auth/client-secrets.ts';
import { callerIdOf } from '../../../books/auth/principal.ts';
import { olderFormats, shownFormat, transcriberIn } from '../../../formats/media/realtime/session-settings.ts';
import type { JsonSchema } from '../../../formats/neutral/described-check.ts';
import { notRealtime, notTranscribing } from '../../../inference/families/realtime/held-session.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import { isObject, isWhole, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import { admittedOf, callerOf, type Exchange, type Route } from '../../exchange.ts';
import { readJsonBody } from '../../read-body.ts';
import { writeJson } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';

interface SecretsParts {
  services: RealtimeServices;
  secrets: ClientSecrets;
}

const bodyBytesMax = 1024 * 1024;
/** OpenAI's bounds and default. */
const seconds = { least: 10, most: 7_200, usual: 600 } as const;

/** OpenAI's present format, and the older ones, where the settings are the body. */
type Form = 'present' | 'older' | 'older transcription';

/** Keys for browsers and phones. */
export function clientSecretRoutes(parts: SecretsParts): Route[] {
  const route = (name: string, form: Form, schema: () => JsonSchema, summary: string) =>
    keyRoute(`POST /v1/realtime/${name}`, 'one', {
      endpoint: `realtime.${name}`,
      body: { schema },
      summary,
      handle: (exchange) => answer(parts, exchange, form),
    });
  const summary = 'A key for a browser or a phone, which opens realtime sessions for some minutes';
  return [
    route('client_secrets', 'present', presentSchema, summary),
    route('sessions', 'older', olderSchema, 'The same in the older format'),
    route('transcription_sessions', 'older transcription', olderTranscriptionSchema, 'The same for transcriptions'),
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

function olderTranscriptionSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['input_audio_transcription'],
    properties: {
      input_audio_format: { type: 'string', enum: [...olderFormats.keys()] },
      input_audio_transcription: {
        type: 'object',
        required: ['model'],
        properties: { model: { type: 'string', description: 'The model that transcribes.' } },
      },
    },
  };
}

async function answer({ services, secrets }: SecretsParts, exchange: Exchange, form: Form): Promise<void> {
  const { client, principal } = exchange;
  const { headers } = admittedOf(exchange);
  const refused = (failure: Failure) => refuse(client, failure, headers);
  const raw = await readJsonBody(exchange, bodyBytesMax);
  if (raw === null) return;
  const read = Buffer.isBuffer(raw) ? readRequest(raw, form) : raw;
  if (isFailure(read)) return refused(read);
  const { model, kind, session, lifeS, shown } = read;
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
  const made = { ...shown, id: `sess_${randomBase62(20)}` };
  const body: JsonObject =
    form === 'present'
      ? { value, expires_at: expiresS, session: made }
      : { ...made, client_secret: { value, expires_at: expiresS } };
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
  /** The session as its answer shows it, but for its id. */
  shown: JsonObject;
}

function readRequest(raw: Buffer, form: Form): SecretRequest | Failure {
  const parsed = parseObject(raw);
  if (isFailure(parsed)) return parsed;
  if (form === 'older transcription') return readTranscription(parsed.body);
  const { expires_after: expires, session: inner, ...rest } = parsed.body;
  const lifeS = form === 'present' ? lifeOf(expires, 'expires_after') : seconds.usual;
  if (typeof lifeS !== 'number') return lifeS;
  const settings = form === 'present' ? inner : rest;
  const place = form === 'present' ? 'session.' : '';
  if (!isObject(settings)) return invalid('session', 'session must be an object that names a model.');
  const { model: talks, type = 'realtime', ...others } = settings;
  if (type !== 'realtime' && type !== 'transcription') {
    return invalid(`${place}type`, `${place}type must be 'realtime' or 'transcription'.`);
  }
  const model = type === 'realtime' ? talks : transcriberIn({ audio: settings.audio });
  if (typeof model !== 'string' || model === '') {
    const path = `${place}${type === 'realtime' ? 'model' : 'audio.input.transcription.model'}`;
    return invalid(path, `${path} must name a model.`);
  }
  const session = form === 'present' ? { type, ...others } : others;
  return { model, kind: type, session, lifeS, shown: { ...session, object: 'realtime.session', model } };
}

/** A session that transcribes, in the older format. Its secret has the settings in the present one. */
function readTranscription({ client_secret: secret, ...settings }: JsonObject): SecretRequest | Failure {
  const lifeS = lifeOf(objectIn(secret).expires_at, 'client_secret.expires_at');
  if (typeof lifeS !== 'number') return lifeS;
  const { input_audio_format: formatName = 'pcm16', include } = settings;
  const { input_audio_transcription: transcription, turn_detection, input_audio_noise_reduction } = settings;
  const { model } = objectIn(transcription);
  if (typeof model !== 'string' || model === '') {
    const path = 'input_audio_transcription.model';
    return invalid(path, `${path} must name a model.`);
  }
  const format = olderFormats.get(formatName);
  if (format === undefined) {
    const names = [...olderFormats.keys()].join(', ');
    return invalid('input_audio_format', `input_audio_format must be one of ${names}.`);
  }
  const input = {
    format: shownFormat(format),
    transcription: objectIn(transcription),
    ...(turn_detection !== undefined && { turn_detection }),
    ...(input_audio_noise_reduction !== undefined && { noise_reduction: input_audio_noise_reduction }),
  };
  const session = { type: 'transcription', audio: { input }, ...(include !== undefined && { include }) };
  const shown = { modalities: ['text'], ...settings, object: 'realtime.transcription_session' };
  return { model, kind: 'transcription', session, lifeS, shown };
}

/** `at`: the member that has it. */
function lifeOf(expires: JsonValue | undefined, at: string): number | Failure {
  if (expires === undefined || expires === null) return seconds.usual;
  const life = isObject(expires) ? (expires.seconds ?? seconds.usual) : null;
  if (isWhole(life, seconds.least, seconds.most)) return life;
  const message = `${at}.seconds must be a whole number from ${seconds.least} to ${seconds.most}.`;
  return invalid(`${at}.seconds`, message);
}
