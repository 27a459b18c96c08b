import type { AwsKeys } from '../books/auth/aws-keys.ts';
import { type KeyRing, unknownKey } from '../books/auth/key-ring.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Failure, isFailure, unauthenticated } from '../kernel/failure.ts';
import type { Room } from '../kernel/sharing/room.ts';
import type { Route } from './exchange.ts';
import { linkPathOf } from './link-base.ts';
import { readBody, wrongEncoding } from './read-body.ts';
import { claimIn, isSignatureOf, isSigned, sha256 } from './signed-request.ts';

/** Parts of the check of signatures. */
export interface SignedCallersParts {
  awsKeys: Pick<AwsKeys, 'open'>;
  ring: Pick<KeyRing, 'opens'>;
  /** Looks whether another process has made a key that is not known. */
  lookForKey(): Promise<void>;
  clock: Pick<Clock, 'wallMs'>;
  /** Room for bodies of callers who are not known yet: the signature covers the body. */
  bodies: Pick<Room, 'hold'>;
  server(): Config['server'];
}

/** Callers that sign their requests as AWS's clients do. */
export type SignedCallers = NonNullable<Route['signed']>;

/** Clocks may differ by as much, and a request can be sent again within it. */
const skewMaxMs = 5 * 60_000;
/** Name in the room for bodies of callers whose account is not known. */
const strangers = '';

/** Checks Signature Version 4 for `bedrock`, in any region: before the body is read where its digest is signed. */
export function createSignedCallers(parts: SignedCallersParts): SignedCallers {
  const { awsKeys, ring, lookForKey, clock, bodies, server } = parts;
  return async (exchange, addressOf) => {
    const { request } = exchange;
    const { headers, method = '', url: target = '' } = request;
    if (!isSigned(headers)) return null;
    const claim = claimIn(headers);
    if (claim === null || claim.service !== 'bedrock') return unreadable;
    const key = awsKeys.open(claim.accessKeyId);
    if (key === null) return unknownId;
    const nowMs = clock.wallMs();
    if (Math.abs(nowMs - claim.atMs) > skewMaxMs) return skewed(claim.date, nowMs);
    if (key.expiresMs <= nowMs) return expired;
    const claimedHash = headers['x-amz-content-sha256'];
    const isRight = (bodyHash: string) =>
      // A proxy may have taken away the path of this server, which the caller signed.
      [target, linkPathOf(request, server()) + target].some((one) =>
        isSignatureOf(key.secretAccessKey, claim, { method, target: one, headers, bodyHash }),
      );
    const isClaimed = typeof claimedHash === 'string' && claim.names.includes('x-amz-content-sha256');
    if (isClaimed && !isRight(claimedHash)) return wrong;
    const open = () => ring.opens(key.hash, addressOf);
    let opened = open();
    if (opened === unknownKey) opened = await lookForKey().then(open);
    if (isFailure(opened)) return opened;
    if (opened.to !== 'v1') return unknownId;
    // The signature is of the bytes that came.
    const packed = wrongEncoding(headers['content-encoding']);
    if (packed !== null) return packed;
    const held = bodies.hold(strangers);
    try {
      const body = await readBody(exchange, server().body_limit, {
        held,
        memory: (bytes) => Buffer.allocUnsafeSlow(bytes),
      });
      if (body === null || !Buffer.isBuffer(body)) return body;
      const bodyHash = sha256(body);
      const isWhole = isClaimed ? bodyHash === claimedHash : isRight(bodyHash);
      return isWhole ? { principal: opened.principal, body } : wrong;
    } finally {
      held.giveBack();
    }
  };
}

const unreadable = unauthenticated(
  "The signature cannot be read. Sign for the service 'bedrock' with host and x-amz-date (Signature Version 4), or send a key as bearer token.",
);
const unknownId = unauthenticated(
  'The access key id is not one of this server. GET /v1/aws-credentials gives one for your key.',
);
const wrong = unauthenticated(
  'The signature does not match the request. Check the secret access key, and that no proxy changes host, path or body.',
);
const expired = unauthenticated('These credentials have expired. GET /v1/aws-credentials gives new ones.');

function skewed(date: string, nowMs: number): Failure {
  const now = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  return unauthenticated(`The signature is of ${date}, and it is ${now} here: the clocks may differ by 5 minutes.`);
}
