import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, isFailure, unauthenticated } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { CallerNote, LastingCallers } from './caller-note.ts';
import type { KeyHeaders } from './key-ring.ts';
import type { Principal } from './principal.ts';

/** Grant of a client secret: sessions with one model, for the key that made it. */
export interface ClientSecret {
  keyId: string;
  model: string;
  /** Settings of its sessions, in the caller's words. */
  session: JsonObject;
  /** Wall-clock ms. A session that runs by then goes on. */
  expiresMs: number;
}

/** A secret with what another process needs to know of a caller whom no store has. */
type Sealed = ClientSecret & { note?: CallerNote };

/**
 * Keys for browsers and phones that live for minutes (OpenAI's `ek_…`). Each is what it opens, sealed: nothing is
 * stored, and every server with the same secret knows it. It opens what its key opens as long as that key works, from
 * any address.
 */
export type ClientSecrets = ReturnType<typeof createClientSecrets>;

const prefix = 'ek_';
/** Node takes 16 KB of headers. */
const lengthMax = 12_000;
const plainBytesMax = 256 * 1024;
const context = 'client secret';

const wrong = unauthenticated(
  'The client secret is not valid. Ask your server for a new one (POST /v1/realtime/client_secrets).',
);
const expired = unauthenticated(
  'The client secret has expired. Ask your server for a new one (POST /v1/realtime/client_secrets).',
);

export function createClientSecrets(sealer: Sealer, ring: LastingCallers, clock: Pick<Clock, 'wallMs'>) {
  function open(headers: KeyHeaders): Sealed | Failure | null {
    const text = sentSecret(headers);
    if (text === null) return null;
    const plain =
      text.length > lengthMax ? null : sealer.open(Buffer.from(text.slice(prefix.length), 'base64url'), context);
    if (plain === null) return wrong;
    const secret = JSON.parse(inflateRawSync(plain, { maxOutputLength: plainBytesMax }).toString()) as Sealed;
    return secret.expiresMs <= clock.wallMs() ? expired : secret;
  }

  return {
    /** Null: its settings are too long for a header. */
    issue(secret: ClientSecret): string | null {
      const note = ring.noteOf(secret.keyId);
      const plain = Buffer.from(JSON.stringify(note === null ? secret : { ...secret, note }));
      if (plain.length > plainBytesMax) return null;
      const text = prefix + sealer.seal(deflateRawSync(plain), context).toString('base64url');
      return text.length > lengthMax ? null : text;
    },
    /** Grant of the caller's secret; null: it has sent none. */
    open,
    /** Whose it is. */
    principal(headers: KeyHeaders): Principal | Failure | null {
      const secret = open(headers);
      if (secret === null || isFailure(secret)) return secret;
      if (secret.note !== undefined) ring.recall(secret.note);
      return ring.principalOf(secret.keyId);
    },
  };
}

/** In `Authorization`, or where the subprotocol of a WebSocket puts it. */
function sentSecret(headers: KeyHeaders): string | null {
  const { authorization = '', 'x-goog-api-key': other } = headers;
  if (/^bearer ek_/i.test(authorization)) return authorization.slice('bearer '.length).trim();
  return typeof other === 'string' && other.startsWith(prefix) ? other : null;
}
